#include "prepare/nnapi/open_batch.h"

#include <algorithm>

#include "base/error.h"
#include "base/limits.h"
#include "ops/core/common.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

using nnapi::LoweredSegment;
using From = LoweredSegment::Output::From;

bool has_batch(const Value& argument, int64_t batch) {
  if (!argument.is_tensor()) return false;
  const TensorImpl& tensor = *argument.tensor_impl();
  return tensor.storage && !tensor.sizes.empty() && tensor.sizes[0] == batch;
}

// What one segment is for all sizes of the batch.
class Comparison {
 public:
  // By size; the first one is for 1, the others are for kOpenSizes.
  explicit Comparison(std::vector<CutSegment> segments) : segments_(std::move(segments)) {
    sizes_ = {1};
    sizes_.insert(sizes_.end(), std::begin(kOpenSizes), std::end(kOpenSizes));
  }

  OpenBatch run() {
    const CutSegment& first = segments_[0];
    for (const CutSegment& other : segments_) {
      if (!is_alike(first, other)) return refused("it is another one for another batch");
    }
    for (size_t i = 0; i < first.lowered.inputs.size(); ++i) {
      if (!add_input(i)) return refused("the batch is a part of a size");
    }
    if (result_.open.empty()) return refused("it does not depend on the batch");
    for (size_t i = 0; i < first.lowered.outputs.size(); ++i) {
      if (!is_linear(i)) return refused("what it gives does not grow with the batch");
    }
    for (size_t i = 1; i < segments_.size(); ++i) {
      result_.lowered.push_back(std::move(segments_[i].lowered));
    }
    return std::move(result_);
  }

 private:
  static OpenBatch refused(std::string why) { return {{}, {}, std::move(why)}; }

  // But for sizes. Numbers that come in have to be the same, since the graph compares them.
  static bool is_alike(const CutSegment& a, const CutSegment& b) {
    const auto same_value = [](const Value& x, const Value& y) {
      return x.is_tensor() ? y.is_tensor() : values_equal(x, y);
    };
    const auto same_input = [](const LoweredSegment::Input& x, const LoweredSegment::Input& y) {
      return x.index == y.index && x.binding.sizes.size() == y.binding.sizes.size();
    };
    const auto same_output = [&](const LoweredSegment::Output& x, const LoweredSegment::Output& y) {
      if (x.from != y.from) return false;
      if (x.from == From::kKnown) return !x.known.is_tensor() && same_value(x.known, y.known);
      return x.index == y.index && x.is_viewed == y.is_viewed &&
             x.result.sizes.size() == y.result.sizes.size();
    };
    return std::ranges::equal(a.inputs, b.inputs, same_value) &&
           std::ranges::equal(a.lowered.inputs, b.lowered.inputs, same_input) &&
           std::ranges::equal(a.lowered.outputs, b.lowered.outputs, same_output);
  }

  bool add_input(size_t i) {
    const auto sizes_of = [&](size_t k) -> const IntArray& {
      return segments_[k].lowered.inputs[i].binding.sizes;
    };
    for (size_t d = 0; d < sizes_of(0).size(); ++d) {
      size_t unchanged = 0, equal = 0;
      for (size_t k = 0; k < sizes_.size(); ++k) {
        unchanged += sizes_of(k)[d] == sizes_of(0)[d];
        equal += sizes_of(k)[d] == sizes_[k];
      }
      if (unchanged == sizes_.size()) continue;
      if (equal != sizes_.size()) return false;
      result_.open.push_back({i, static_cast<int64_t>(d)});
    }
    return true;
  }

  bool is_linear(size_t output) const {
    const auto result = [&](size_t k) -> const LoweredSegment::Output& {
      return segments_[k].lowered.outputs[output];
    };
    if (result(0).from == From::kKnown) return true;
    for (size_t d = 0; d < result(0).result.sizes.size(); ++d) {
      const auto size = [&](size_t k) { return result(k).result.sizes[d]; };
      const int64_t step = size(1) - size(0);
      // An input that is given back is given its sizes by the graph.
      if (step != 0 && result(0).from == From::kInput) return false;
      for (size_t k = 1; k < sizes_.size(); ++k) {
        if (size(k) != size(0) + step * (sizes_[k] - 1)) return false;
      }
    }
    return true;
  }

  std::vector<CutSegment> segments_;
  std::vector<int64_t> sizes_;
  OpenBatch result_;
};

}  // namespace

int64_t batch_of(const std::vector<Value>& arguments) {
  for (const Value& argument : arguments) {
    if (!argument.is_tensor() || argument.tensor_impl()->sizes.empty()) continue;
    return argument.tensor_impl()->sizes[0];
  }
  fail(ErrorCode::kInvalidArgument, "the example inputs have no tensor with a batch");
}

std::vector<Value> with_batch(const std::vector<Value>& arguments, int64_t batch) {
  const int64_t own = batch_of(arguments);
  std::vector<Value> result = arguments;
  for (Value& argument : result) {
    if (own == 0 || !has_batch(argument, own)) continue;
    const Tensor rows = argument.to_tensor();
    IntArray sizes(rows.sizes().begin(), rows.sizes().end());
    sizes[0] = batch;
    const Tensor made = rows.is_quantized()
                            ? empty_quantized(sizes, rows.dtype(), rows.impl()->quantizer)
                            : empty(sizes, rows.dtype());
    for (int64_t i = 0; i < batch; ++i) {
      ops::narrow(made, 0, i, 1).copy_(ops::narrow(rows, 0, i % own, 1));
    }
    argument = Value(made);
  }
  return result;
}

std::vector<OpenBatch> open_batches(Graph& graph, Function& method,
                                    const std::vector<Value>& arguments, const Cut& cut,
                                    const nnapi::ModelLimits& limits) {
  std::vector<std::vector<CutSegment>> lowered(cut.segments.size());
  const auto lower = [&](int64_t batch) {
    auto again = lower_again(graph, method, with_batch(arguments, batch), cut, limits);
    for (size_t i = 0; i < again.size(); ++i) {
      if (again[i]) lowered[i].push_back(std::move(*again[i]));
    }
  };
  const size_t count = 1 + std::size(kOpenSizes);
  std::string why_not;
  try {
    lower(1);
    std::ranges::for_each(kOpenSizes, lower);
  } catch (const Error& error) {
    if (is_limit(error.code())) throw;
    why_not = std::string("the model takes no other batch: ") + error.what();
  }
  std::vector<OpenBatch> result;
  for (std::vector<CutSegment>& segments : lowered) {
    if (why_not.empty() && segments.size() == count) {
      result.push_back(Comparison(std::move(segments)).run());
    } else {
      result.push_back({{}, {}, why_not.empty() ? "NNAPI refuses it for another batch" : why_not});
    }
  }
  return result;
}

}  // namespace torchlet::prepare
