// Operations that take some of the elements: parts, slices, by index, the largest.
#include <string>

#include "base/error.h"
#include "neuralnetworks/operations/moving.h"
#include "neuralnetworks/operators/shape_operators.h"
#include "tensor/tensor_impl.h"

namespace torchlet::nn {
namespace {

// ---- parts ----

void split(Emitter& emit, const Call& call) {
  const int64_t parts = call.integer("num_splits");
  const size_t count = call.num_outputs();
  if (parts < 1 || count != static_cast<size_t>(parts)) {
    fail(ErrorCode::kInvalidArgument, "there are %zu outputs for %lld parts", count,
         static_cast<long long>(parts));
  }
  const uint32_t input = call.index("input");
  int64_t axis = call.integer("axis");
  const size_t rank = call.operand("input").dims.size();
  if (rank != 0) axis = wrap_dim(axis, static_cast<int64_t>(rank));
  const bool as_images = emit.as_images({&input, 1});
  SsaValue* size = emit.call("nnapi::part_size", {emit.size(input, axis), parts});
  const std::vector<SsaValue*> outputs = emit.unpack(
      emit.call("aten::split.Tensor", {as_images ? emit.image(input) : emit.value(input), size,
                                       as_images ? nchw_axis(axis) : axis}),
      count);
  for (size_t i = 0; i < count; ++i) {
    require_same_quantization(call, call.operand("input"), i);
    as_images ? emit.give_image(call.output_index(i), outputs[i]) : emit.give(call, outputs[i], i);
  }
}

// ---- slices ----

// The slice as views where its bounds are known.
SsaValue* in_ranges(Emitter& emit, const Call& call, IntSpan sizes, std::span<const Range> ranges) {
  const Operand& input = call.operand("input");
  SsaValue* slice = emit.value(call, "input");
  std::vector<Arg> flipped;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [begin, count, stride] = ranges[i];
    if (count == sizes[i] && stride == 1) continue;
    const auto dim = static_cast<int64_t>(i);
    const int64_t last = begin + (count - 1) * stride;
    if (count == 0) {
      slice = emit.call("aten::slice.Tensor", {slice, dim, 0, 0, 1});
    } else if (stride > 0) {
      slice = emit.call("aten::slice.Tensor", {slice, dim, begin, last + 1, stride});
    } else {
      slice = emit.call("aten::slice.Tensor", {slice, dim, last, begin + 1, -stride});
      flipped.emplace_back(dim);
    }
  }
  if (flipped.empty()) return slice;
  return held(emit, emit.call("aten::flip", {plain(emit, slice, input), flipped}), input);
}

void slice(Emitter& emit, const Call& call) {
  const auto sizes = known_sizes(call.operand("input"));
  const auto begin = known_list(call, "begin"), size = known_list(call, "size");
  SsaValue* result =
      sizes && begin && size
          ? in_ranges(emit, call, *sizes, slice_ranges(*sizes, *begin, *size))
          : emit.call("nnapi::slice", {emit.value(call, "input"), list(emit, call, "begin"),
                                       list(emit, call, "size")});
  give_moved(emit, call, "input", result);
}

SsaValue* known_strided_slice(Emitter& emit, const Call& call, IntSpan sizes,
                              std::span<const Range> ranges, int64_t shrink_mask) {
  SsaValue* result = in_ranges(emit, call, sizes, ranges);
  if (shrink_mask == 0) return result;
  IntArray counts;
  for (const Range& range : ranges) counts.push_back(range.count);
  std::vector<Arg> kept;
  for (const int64_t count : shrunk_sizes(counts, shrink_mask)) kept.emplace_back(count);
  return emit.call("aten::reshape", {result, kept});
}

void strided_slice(Emitter& emit, const Call& call) {
  require_rank(call, "input", 1, 4);
  const auto sizes = known_sizes(call.operand("input"));
  const auto begins = known_list(call, "begins"), ends = known_list(call, "ends"),
             strides = known_list(call, "strides");
  const int64_t begin_mask = call.integer("begin_mask"), end_mask = call.integer("end_mask"),
                shrink_mask = call.integer("shrink_axis_mask");
  if (sizes && begins && ends && strides) {
    const std::vector<Range> ranges =
        strided_ranges(*sizes, *begins, *ends, *strides, begin_mask, end_mask, shrink_mask);
    return give_moved(emit, call, "input",
                      known_strided_slice(emit, call, *sizes, ranges, shrink_mask));
  }
  // Flipping does not know quantized tensors.
  give_plain(
      emit, call, "input",
      emit.call("nnapi::strided_slice",
                {plain(emit, call, "input"), list(emit, call, "begins"), list(emit, call, "ends"),
                 list(emit, call, "strides"), begin_mask, end_mask, shrink_mask}));
}

// ---- by index ----

void gather_along(Emitter& emit, const Call& call, std::string_view input, int64_t axis,
                  std::string_view indices) {
  SsaValue* index = emit.value(call, indices);
  const bool is_list = call.operand(indices).dims.size() == 1;
  if (!is_list) index = emit.call("aten::reshape", {index, {-1}});
  SsaValue* taken = emit.call("aten::index_select", {plain(emit, call, input), axis, index});
  if (!is_list) {
    SsaValue* sizes = emit.call("nnapi::gathered_sizes", {emit.sizes(call.index(input)), axis,
                                                          emit.sizes(call.index(indices))});
    taken = emit.call("aten::reshape", {taken, sizes});
  }
  give_plain(emit, call, input, taken);
}

void gather(Emitter& emit, const Call& call) {
  gather_along(emit, call, "input", call.integer("axis"), "indices");
}

void embedding_lookup(Emitter& emit, const Call& call) {
  require_rank(call, "lookups", 1, 1);
  gather_along(emit, call, "values", 0, "lookups");
}

void hashtable_lookup(Emitter& emit, const Call& call) {
  const Operand& values = call.operand("values");
  const std::vector<SsaValue*> results = emit.call_all(
      "nnapi::hashtable_lookup", {emit.value(call, "lookups"), emit.value(call, "keys"),
                                  plain(emit, call, "values"), int64_t{values.zero_point}});
  give_plain(emit, call, "values", results[0], 0);
  emit.give(call, held(emit, results[1], call.output(1)), 1);
}

// ---- the largest and the smallest ----

// Of equal elements the one with the larger index comes first: the other way round than in a
// stable order, which is why that of the flipped elements is taken.
void topk_v2(Emitter& emit, const Call& call) {
  const uint32_t input = call.index("input");
  const int64_t k = call.integer("k");
  if (k < 1) {
    fail(ErrorCode::kInvalidArgument, "the largest %lld elements", static_cast<long long>(k));
  }
  SsaValue* flipped = emit.call("aten::flip", {plain(emit, call, "input"), {-1}});
  const std::vector<SsaValue*> sorted =
      emit.call_all("aten::sort.stable", {flipped, true, -1, true});
  const auto first = [&](SsaValue* tensor) {
    return emit.call("aten::narrow", {tensor, -1, 0, k});
  };
  give_plain(emit, call, "input", first(sorted[0]));
  const auto rank = static_cast<int64_t>(call.operand("input").dims.size());
  const Arg size = rank != 0 ? emit.size(input, rank - 1)
                             : Arg(emit.call("aten::size.int", {emit.value(input), -1}));
  const Arg last =
      size.number() ? Arg(*size.number() - 1) : Arg(emit.call("aten::sub.int", {size, 1}));
  SsaValue* indices = emit.call("aten::rsub.Scalar", {first(sorted[1]), last});
  emit.give(call, emit.call("aten::to.dtype", {indices, DType::kInt32}), 1);
}

void extreme_index(Emitter& emit, const Call& call, const char* op) {
  // Of a vector the result is [1].
  const size_t rank = call.operand("input").dims.size();
  SsaValue* indices = emit.call(op, {plain(emit, call, "input"), call.integer("axis"), rank < 2});
  if (rank == 0) {
    SsaValue* sizes = emit.call("nnapi::squeezed_sizes",
                                {emit.call("aten::size", {indices}), {call.integer("axis")}});
    indices = emit.call("aten::reshape", {indices, sizes});
  }
  emit.give(call, emit.call("aten::to.dtype", {indices, DType::kInt32}));
}

void argmax(Emitter& emit, const Call& call) { extreme_index(emit, call, "aten::argmax"); }
void argmin(Emitter& emit, const Call& call) { extreme_index(emit, call, "aten::argmin"); }

}  // namespace

NNAPI_OPERATION(SPLIT, split,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, INT32 axis, INT32 num_splits) -> "
                "(T...)");
NNAPI_OPERATION(SLICE, slice,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, TENSOR_INT32 begin, TENSOR_INT32 size) "
                "-> (T)");
NNAPI_OPERATION(STRIDED_SLICE, strided_slice,
                "T in FLOAT QUANT8: (T input, TENSOR_INT32 begins, TENSOR_INT32 ends, TENSOR_INT32 "
                "strides, INT32 begin_mask, INT32 end_mask, INT32 shrink_axis_mask) -> (T)");
NNAPI_OPERATION(GATHER, gather,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, INT32 axis, TENSOR_INT32 indices) -> "
                "(T)");
NNAPI_OPERATION(EMBEDDING_LOOKUP, embedding_lookup,
                "T in FLOAT QUANT8 TENSOR_INT32: (TENSOR_INT32 lookups, T values) -> (T)");
NNAPI_OPERATION(HASHTABLE_LOOKUP, hashtable_lookup,
                "T in TENSOR_FLOAT32 TENSOR_INT32 TENSOR_QUANT8_ASYMM: (TENSOR_INT32 lookups, "
                "TENSOR_INT32 keys, T values) -> (T, TENSOR_QUANT8_ASYMM)");
NNAPI_OPERATION(TOPK_V2, topk_v2,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, INT32 k) -> (T, TENSOR_INT32)");
NNAPI_OPERATION(ARGMAX, argmax,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, INT32 axis) -> (TENSOR_INT32)");
NNAPI_OPERATION(ARGMIN, argmin,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, INT32 axis) -> (TENSOR_INT32)");

}  // namespace torchlet::nn
