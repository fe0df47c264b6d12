// Operations that leave one element of many: along axes, which are a tensor and may be an input.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "neuralnetworks/operations/operation.h"
#include "neuralnetworks/translate/emitter.h"
#include "ops/core/common.h"

namespace torchlet::nn {
namespace {

// Sorted, each once, if they and the rank of the input are known.
std::optional<IntArray> known_axes(const Call& call) {
  const Operand& axes = call.operand("axes");
  const auto rank = static_cast<int64_t>(call.operand("input").dims.size());
  if (axes.lifetime != Lifetime::kConstant || rank == 0) return {};
  std::vector<int32_t> given(axes.value.size() / sizeof(int32_t));
  std::memcpy(given.data(), axes.value.data(), given.size() * sizeof(int32_t));
  IntArray wrapped;
  for (const int32_t axis : given) wrapped.push_back(wrap_dim(axis, rank));
  std::ranges::sort(wrapped);
  wrapped.resize(
      static_cast<size_t>(std::unique(wrapped.begin(), wrapped.end()) - wrapped.begin()));
  return wrapped;
}

// `op` takes a tensor, dimensions and whether they stay, with a size of 1. Of what loses all its
// dimensions one of size 1 is left.
SsaValue* reduced(Emitter& emit, const Call& call, const char* op, SsaValue* value) {
  const bool keeps = call.boolean("keep_dims");
  const auto axes = known_axes(call);
  if (axes && axes->empty()) return value;
  if (axes) {
    const std::vector<Arg> dims(axes->begin(), axes->end());
    const bool reduces_all = axes->size() == call.operand("input").dims.size();
    SsaValue* result = emit.call(op, {value, dims, keeps});
    if (!reduces_all || keeps) return result;
    return emit.call("aten::reshape", {result, {1}});
  }
  SsaValue* dims = emit.call("nnapi::axes", {emit.value(call, "axes"), value});
  SsaValue* result = emit.call(op, {value, dims, keeps});
  return keeps ? result : emit.call("aten::atleast_1d", {result});
}

void reduce_real(Emitter& emit, const Call& call, const char* op) {
  emit.give_real(call, reduced(emit, call, op, emit.real(call, "input")));
}

void reduce_held(Emitter& emit, const Call& call, const char* op) {
  emit.give(call, reduced(emit, call, op, emit.value(call, "input")));
}

// Over the pixels of an image it has a kernel for both kinds of numbers.
void mean(Emitter& emit, const Call& call) {
  const Operand& input = call.operand("input");
  const bool is_image = input.dims.size() == 4 && known_axes(call) == IntArray{1, 2};
  if (!is_image) return reduce_real(emit, call, "aten::mean.dim");
  SsaValue* image = emit.image(call.index("input"));
  const bool keeps = call.boolean("keep_dims");
  const bool quantized = is_quantized(input.type);
  SsaValue* result =
      emit.call("aten::mean.dim", {quantized ? image : emit.to_real(image, input), {2, 3}, keeps});
  result = quantized ? emit.requantized(result, input, call.output())
                     : emit.from_real(result, call.output());
  keeps ? emit.give_image(call.output_index(), result) : emit.give(call, result);
}

void reduce_all(Emitter& emit, const Call& call) { reduce_held(emit, call, "aten::amin"); }
void reduce_any(Emitter& emit, const Call& call) { reduce_held(emit, call, "aten::amax"); }
void reduce_max(Emitter& emit, const Call& call) { reduce_real(emit, call, "aten::amax"); }
void reduce_min(Emitter& emit, const Call& call) { reduce_real(emit, call, "aten::amin"); }
void reduce_prod(Emitter& emit, const Call& call) { reduce_real(emit, call, "nnapi::prod"); }
void reduce_sum(Emitter& emit, const Call& call) {
  reduce_real(emit, call, "aten::sum.dim_IntList");
}

}  // namespace

NNAPI_OPERATION(MEAN, mean,
                "T in FLOAT QUANT8: (T input, TENSOR_INT32 axes, INT32 keep_dims) -> (T)");
NNAPI_OPERATION(REDUCE_ALL, reduce_all,
                "(TENSOR_BOOL8 input, TENSOR_INT32 axes, BOOL keep_dims) -> (TENSOR_BOOL8)");
NNAPI_OPERATION(REDUCE_ANY, reduce_any,
                "(TENSOR_BOOL8 input, TENSOR_INT32 axes, BOOL keep_dims) -> (TENSOR_BOOL8)");
NNAPI_OPERATION(REDUCE_MAX, reduce_max,
                "T in FLOAT QUANT8: (T input, TENSOR_INT32 axes, BOOL keep_dims) -> (T)");
NNAPI_OPERATION(REDUCE_MIN, reduce_min,
                "T in FLOAT QUANT8: (T input, TENSOR_INT32 axes, BOOL keep_dims) -> (T)");
NNAPI_OPERATION(REDUCE_PROD, reduce_prod,
                "T in FLOAT: (T input, TENSOR_INT32 axes, BOOL keep_dims) -> (T)");
NNAPI_OPERATION(REDUCE_SUM, reduce_sum,
                "T in FLOAT: (T input, TENSOR_INT32 axes, BOOL keep_dims) -> (T)");

}  // namespace torchlet::nn
