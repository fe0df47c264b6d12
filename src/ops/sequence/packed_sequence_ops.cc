// Sequences of different lengths: padded to one tensor, or packed step by step.
#include <algorithm>
#include <numeric>

#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/sequence/rnn.h"

namespace torchlet::ops {
namespace {

// Steps [time, time + times) of as many sequences: the first `count` of padded [time, batch, ...],
// which lie behind one another in the packed data from row `offset` on.
struct Run {
  int64_t time, times, offset, count;
};

// Calls copy(packed, padded) with both as [times, count, ...], for each run.
template <typename Copy>
void for_each_run(const CountedVector<Run>& runs, const Tensor& packed, const Tensor& padded,
                  Copy copy) {
  for (const Run& run : runs) {
    IntArray shape(packed.sizes()), strides(packed.strides());
    shape[0] = run.count;
    shape.insert(shape.begin(), run.times);
    strides.insert(strides.begin(), run.count * strides[0]);
    copy(make_view(packed, shape, strides, packed.storage_offset() + run.offset * packed.stride(0)),
         narrow(narrow(padded, 0, run.time, run.times), 1, 0, run.count));
  }
}

std::tuple<Tensor, Tensor> pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                                bool batch_first) {
  TORCHLET_CHECK(input.dim() >= 2, "pack_padded_sequence: expected at least 2 dimensions, got %s",
                 input.describe().c_str());
  TORCHLET_CHECK(lengths.dim() == 1 && lengths.dtype() == DType::kInt64,
                 "'lengths' argument should be a 1D int64 tensor, but got %s",
                 lengths.describe().c_str());
  const Tensor padded = batch_first ? transpose(input, 0, 1) : input;
  const Tensor list = lengths.contiguous();
  const int64_t* length = list.data_ptr<int64_t>();
  TORCHLET_CHECK(
      list.numel() == padded.size(1),
      "Expected `len(lengths)` to be equal to batch_size, but got %lld (batch_size=%lld)",
      static_cast<long long>(list.numel()), static_cast<long long>(padded.size(1)));
  TORCHLET_CHECK(list.numel() > 0 && length[list.numel() - 1] > 0,
                 "Length of all samples has to be greater than 0, but found an element in "
                 "'lengths' that is <= 0");
  for (int64_t i = 1; i < list.numel(); ++i) {
    TORCHLET_CHECK(length[i] <= length[i - 1],
                   "`lengths` array must be sorted in decreasing order when `enforce_sorted` is "
                   "True. You can pass `enforce_sorted=False` to pack_padded_sequence to sidestep "
                   "this requirement if you do not need ONNX exportability.");
  }
  TORCHLET_CHECK(length[0] <= padded.size(0),
                 "pack_padded_sequence: length %lld is greater than the %lld steps of the input",
                 static_cast<long long>(length[0]), static_cast<long long>(padded.size(0)));
  const Tensor batch_sizes = empty({{length[0]}}, DType::kInt64);
  CountedVector<Run> runs;
  int64_t rows = 0, time = 0;
  for (int64_t alive = list.numel(); alive > 0; --alive) {
    const int64_t times = length[alive - 1] - time;
    if (times == 0) continue;
    std::fill_n(batch_sizes.data_ptr<int64_t>() + time, times, alive);
    runs.push_back({time, times, rows, alive});
    rows += times * alive;
    time += times;
  }
  IntArray shape(padded.sizes().subspan(1));
  shape[0] = rows;
  const Tensor packed = empty(shape, input.dtype());
  for_each_run(runs, packed, padded, [](const Tensor& p, const Tensor& q) { p.copy_(q); });
  return {packed, batch_sizes};
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes,
                                               bool batch_first, const Scalar& padding_value,
                                               int64_t total_length) {
  TORCHLET_CHECK(data.dim() >= 1, "pad_packed_sequence: the data must have a dimension");
  const CountedVector<RnnStep> steps = packed_steps(batch_sizes, data.size(0));
  TORCHLET_CHECK(!steps.empty(), "pad_packed_sequence: the sequence has no steps");
  const int64_t longest = static_cast<int64_t>(steps.size());
  TORCHLET_CHECK(
      total_length <= 0 || total_length >= longest,
      "Expected total_length to be at least the length of the longest sequence in input, "
      "but got total_length=%lld and max sequence length being %lld",
      static_cast<long long>(total_length), static_cast<long long>(longest));
  IntArray shape(data.sizes());
  shape[0] = steps[0].count;
  shape.insert(shape.begin(), std::max(longest, total_length));
  const Tensor padded = full(shape, padding_value, data.dtype());
  CountedVector<Run> runs;
  for (int64_t t = 0; t < longest; ++t) {
    const RnnStep& step = steps[static_cast<size_t>(t)];
    if (runs.empty() || runs.back().count != step.count) {
      runs.push_back({t, 0, step.offset, step.count});
    }
    ++runs.back().times;
  }
  for_each_run(runs, data, padded, [](const Tensor& p, const Tensor& q) { q.copy_(p); });
  const Tensor lengths = empty({{steps[0].count}}, DType::kInt64);
  for (const Run& run : runs) {  // each sequence ends with the last run that has it
    std::fill_n(lengths.data_ptr<int64_t>(), run.count, run.time + run.times);
  }
  return {batch_first ? transpose(padded, 0, 1) : padded, lengths};
}

Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first, double padding_value) {
  TORCHLET_CHECK(!sequences.empty(), "received an empty list of sequences");
  const Tensor& first = sequences[0];
  TORCHLET_CHECK(first.dim() > 0, "pad_sequence: a sequence must have at least one dimension");
  int64_t longest = 0;
  for (const Tensor& s : sequences) {
    TORCHLET_CHECK(s.dim() == first.dim() &&
                       std::ranges::equal(s.sizes().subspan(1), first.sizes().subspan(1)),
                   "pad_sequence: sequences may differ in their first size only, got %s and %s",
                   first.describe().c_str(), s.describe().c_str());
    longest = std::max(longest, s.size(0));
  }
  IntArray shape(first.sizes());
  shape[0] = longest;
  shape.insert(shape.begin() + (batch_first ? 0 : 1), static_cast<int64_t>(sequences.size()));
  const Tensor out = full(shape, Scalar(padding_value), first.dtype());
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Tensor place = select(out, batch_first ? 0 : 1, static_cast<int64_t>(i));
    narrow(place, 0, 0, sequences[i].size(0)).copy_(sequences[i]);
  }
  return out;
}

}  // namespace

TORCHLET_OP_WITH(_pack_padded_sequence, out("out(out0, out1)"),
                 "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) "
                 "-> (Tensor, Tensor)",
                 pack_padded_sequence);
TORCHLET_OP(_pad_packed_sequence,
            "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar "
            "padding_value, int total_length) -> (Tensor, Tensor)",
            pad_packed_sequence);
TORCHLET_OP(pad_sequence,
            "aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float "
            "padding_value=0.) -> Tensor",
            pad_sequence);

}  // namespace torchlet::ops
