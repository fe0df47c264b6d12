// Functions of each element alone, and conversions between types.
#include <cstdint>

#include "neuralnetworks/operations/operation.h"
#include "neuralnetworks/operations/pointwise.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {
namespace {

// ---- mathematics ----

void unary(Emitter& emit, const Call& call, const char* op) {
  const Pointwise at(emit, call, {"input"});
  at.give_number(emit.call(op, {at.number("input")}));
}

void abs(Emitter& emit, const Call& call) { unary(emit, call, "aten::abs"); }
void exp(Emitter& emit, const Call& call) { unary(emit, call, "aten::exp"); }
void floor(Emitter& emit, const Call& call) { unary(emit, call, "aten::floor"); }
void log(Emitter& emit, const Call& call) { unary(emit, call, "aten::log"); }
void logical_not(Emitter& emit, const Call& call) { unary(emit, call, "aten::logical_not"); }
void neg(Emitter& emit, const Call& call) { unary(emit, call, "aten::neg"); }
void rsqrt(Emitter& emit, const Call& call) { unary(emit, call, "aten::rsqrt"); }
void sin(Emitter& emit, const Call& call) { unary(emit, call, "aten::sin"); }
void sqrt(Emitter& emit, const Call& call) { unary(emit, call, "aten::sqrt"); }

// ---- activations ----

// One that a quantized tensor passes in its own scale.
void clamping(Emitter& emit, const Call& call, int64_t fuse_code) {
  const Pointwise at(emit, call, {"input"});
  const Operand& input = call.operand("input");
  if (!at.is_quantized()) return at.give_real(emit.activate(at.real("input"), fuse_code));
  SsaValue* result = emit.activate(at.held("input"), needed_activation(fuse_code, input));
  at.give(emit.requantized(result, input, call.output()));
}

void relu(Emitter& emit, const Call& call) { clamping(emit, call, ANEURALNETWORKS_FUSED_RELU); }
void relu1(Emitter& emit, const Call& call) { clamping(emit, call, ANEURALNETWORKS_FUSED_RELU1); }
void relu6(Emitter& emit, const Call& call) { clamping(emit, call, ANEURALNETWORKS_FUSED_RELU6); }

// One whose quantized results PyTorch gives in a scale of its own, `scale`, with zero as held at
// `zero_point`. That is what NNAPI demands, too.
void squashing(Emitter& emit, const Call& call, const char* op, float scale, int32_t zero_point) {
  const Pointwise at(emit, call, {"input"});
  if (!at.is_quantized()) return at.give_real(emit.call(op, {at.real("input")}));
  Operand natural = call.output();
  natural.scale = scale;
  natural.zero_point += zero_point - static_cast<int32_t>(held_zero_point(natural));
  SsaValue* result = emit.call(op, {at.held("input")});
  at.give(emit.requantized(result, natural, call.output()));
}

void logistic(Emitter& emit, const Call& call) {
  squashing(emit, call, "aten::sigmoid", 1.0f / 256, 0);
}
void tanh(Emitter& emit, const Call& call) { squashing(emit, call, "aten::tanh", 1.0f / 128, 128); }

void elu(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"input"});
  at.give_real(emit.call("aten::elu", {at.real("input"), call.real("alpha")}));
}

void hard_swish(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"input"});
  if (!at.is_quantized()) return at.give_real(emit.call("aten::hardswish", {at.real("input")}));
  at.give(emit.call("quantized::hardswish", {at.held("input"), double{call.output().scale},
                                             held_zero_point(call.output())}));
}

// ---- types ----

// A real number beyond the range of int32 becomes the end of the range.
SsaValue* saturated(Emitter& emit, SsaValue* value, const Operand& operand) {
  if (operand.type != ANEURALNETWORKS_TENSOR_FLOAT32) return value;
  value = emit.call("aten::clamp", {value, -0x1p31, 0x1p31});
  value = emit.call("aten::to.dtype", {value, DType::kInt64});
  return emit.call("aten::clamp_max", {value, int64_t{INT32_MAX}});
}

// Of the integers that are stored, whatever they stand for.
void cast(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"input"});
  const Operand& input = call.operand("input");
  const Operand& output = call.output();
  SsaValue* value = at.held("input");
  if (is_quantized(input.type)) value = emit.call("aten::int_repr", {value});
  const auto to = [&](DType dtype) { return emit.call("aten::to.dtype", {value, dtype}); };
  switch (output.type) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
      return at.give(to(DType::kFloat32));
    case ANEURALNETWORKS_TENSOR_FLOAT16:
      return at.give(to(DType::kFloat16));
    case ANEURALNETWORKS_TENSOR_INT32:
      return at.give(emit.call("aten::to.dtype", {saturated(emit, value, input), DType::kInt32}));
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
      value = emit.call("aten::clamp", {value, 0, 255});
      [[fallthrough]];
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
      return at.give(emit.call("aten::_make_per_tensor_quantized_tensor",
                               {to(DType::kUInt8), double{output.scale}, held_zero_point(output)}));
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
      return at.give(
          emit.call("aten::_make_per_tensor_quantized_tensor", {value, double{output.scale}, 0}));
    default:
      return at.give(value);  // to the same type
  }
}

void quantize(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"input"});
  at.give_real(at.real("input"));
}

}  // namespace

NNAPI_OPERATION(ABS, abs, "T in FLOAT TENSOR_INT32: (T input) -> (T)");
NNAPI_OPERATION(EXP, exp, "T in FLOAT: (T input) -> (T)");
NNAPI_OPERATION(FLOOR, floor, "T in FLOAT: (T input) -> (T)");
NNAPI_OPERATION(LOG, log, "T in FLOAT: (T input) -> (T)");
NNAPI_OPERATION(LOGICAL_NOT, logical_not, "(TENSOR_BOOL8 input) -> (TENSOR_BOOL8)");
NNAPI_OPERATION(NEG, neg, "T in FLOAT TENSOR_INT32: (T input) -> (T)");
NNAPI_OPERATION(RSQRT, rsqrt, "T in FLOAT QUANT8: (T input) -> (T)");
NNAPI_OPERATION(SIN, sin, "T in FLOAT: (T input) -> (T)");
NNAPI_OPERATION(SQRT, sqrt, "T in FLOAT: (T input) -> (T)");

NNAPI_OPERATION(RELU, relu, "T in FLOAT QUANT8: (T input) -> (T)");
NNAPI_OPERATION(RELU1, relu1, "T in FLOAT QUANT8: (T input) -> (T)");
NNAPI_OPERATION(RELU6, relu6, "T in FLOAT QUANT8: (T input) -> (T)");
NNAPI_OPERATION(LOGISTIC, logistic, "T in FLOAT QUANT8: (T input) -> (T)");
NNAPI_OPERATION(TANH, tanh, "T in FLOAT QUANT8: (T input) -> (T)");
NNAPI_OPERATION(ELU, elu, "T in FLOAT: (T input, SCALAR(T) alpha) -> (T)");
NNAPI_OPERATION(HARD_SWISH, hard_swish, "T in FLOAT QUANT8: (T input) -> (T)");

NNAPI_OPERATION(CAST, cast,
                "T in FLOAT TENSOR_INT32 TENSOR_QUANT8_ASYMM: (T input) -> "
                "(FLOAT|TENSOR_INT32|TENSOR_QUANT8_ASYMM)",
                "T in TENSOR_BOOL8 TENSOR_QUANT16_ASYMM TENSOR_QUANT16_SYMM "
                "TENSOR_QUANT8_ASYMM_SIGNED TENSOR_QUANT8_SYMM: (T input) -> (T)");
NNAPI_OPERATION(QUANTIZE, quantize, "(FLOAT input) -> (QUANT8)");
NNAPI_OPERATION(DEQUANTIZE, quantize,
                "(QUANT8|TENSOR_QUANT8_SYMM|TENSOR_QUANT8_SYMM_PER_CHANNEL input) -> (FLOAT)");

}  // namespace torchlet::nn
