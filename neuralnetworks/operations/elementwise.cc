// Operations on corresponding elements, which are broadcast as in NumPy.
#include <cstring>
#include <optional>

#include "neuralnetworks/operations/operation.h"
#include "neuralnetworks/operations/pointwise.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {
namespace {

// ---- arithmetic with an activation ----

// `op` of two numbers.
void arithmetic(const Pointwise& at, const char* op) {
  SsaValue* result = at.emit().call(op, {at.number("input0"), at.number("input1")});
  at.give_number(at.emit().activate(result, at.call().integer("activation")));
}

// PyTorch's operators of quantized tensors, "quantized::add" and "quantized::add_relu".
void quantized_arithmetic(const Pointwise& at, const char* op, const char* op_relu, SsaValue* a,
                          SsaValue* b) {
  const Operand& output = at.call().output();
  const int64_t activation = needed_activation(at.call().integer("activation"), output);
  const bool relu = activation == ANEURALNETWORKS_FUSED_RELU;
  SsaValue* result =
      at.emit().call(relu ? op_relu : op, {a, b, double{output.scale}, held_zero_point(output)});
  at.give(relu ? result : at.emit().activate(result, activation));
}

void add(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"input0", "input1"});
  if (!at.is_quantized()) return arithmetic(at, "aten::add.Tensor");
  quantized_arithmetic(at, "quantized::add", "quantized::add_relu", at.held("input0"),
                       at.held("input1"));
}

void sub(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"input0", "input1"});
  if (!at.is_quantized()) return arithmetic(at, "aten::sub.Tensor");
  // Which is exact: only the zero point changes, and the bytes are mirrored.
  SsaValue* negated = emit.call("quantized::mul_scalar", {at.held("input1"), -1.0});
  quantized_arithmetic(at, "quantized::add", "quantized::add_relu", at.held("input0"), negated);
}

void mul(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"input0", "input1"});
  if (!at.is_quantized()) return arithmetic(at, "aten::mul.Tensor");
  quantized_arithmetic(at, "quantized::mul", "quantized::mul_relu", at.held("input0"),
                       at.held("input1"));
}

void div(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"input0", "input1"});
  const bool is_int = call.output().type == ANEURALNETWORKS_TENSOR_INT32;
  arithmetic(at, is_int ? "nnapi::floor_divide" : "aten::div.Tensor");
}

// ---- and without ----

void binary(Emitter& emit, const Call& call, const char* op) {
  const Pointwise at(emit, call, {"input0", "input1"});
  at.give_number(emit.call(op, {at.number("input0"), at.number("input1")}));
}

void maximum(Emitter& emit, const Call& call) { binary(emit, call, "aten::maximum"); }
void minimum(Emitter& emit, const Call& call) { binary(emit, call, "aten::minimum"); }

void pow(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"base", "exponent"});
  at.give_real(emit.call("aten::pow.Tensor_Tensor", {at.real("base"), at.real("exponent")}));
}

// If it is one constant for all elements, which does not change the rank.
std::optional<double> slope_of(const Operand& alpha, const Operand& input) {
  if (alpha.type != ANEURALNETWORKS_TENSOR_FLOAT32 || alpha.value.size() != sizeof(float) ||
      alpha.dims.size() > input.dims.size()) {
    return std::nullopt;
  }
  float slope;
  std::memcpy(&slope, alpha.value.data(), sizeof slope);
  return slope;
}

// PyTorch's prelu() has one slope a channel. Others are parts that each have a kernel.
void prelu(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"input", "alpha"});
  SsaValue* input = at.real("input");
  if (const auto slope = slope_of(call.operand("alpha"), call.operand("input"))) {
    return at.give_real(emit.call("aten::leaky_relu", {input, *slope}));
  }
  SsaValue* negative = emit.call("aten::clamp_max", {input, 0.0});
  SsaValue* sloped = emit.call("aten::mul.Tensor", {negative, at.real("alpha")});
  at.give_real(emit.call("aten::add.Tensor", {sloped, emit.call("aten::relu", {input})}));
}

// ---- comparisons ----

// Of real numbers, so that operands of different scales compare.
void comparison(Emitter& emit, const Call& call, const char* op) {
  const Pointwise at(emit, call, {"input0", "input1"});
  at.give(emit.call(op, {at.number("input0"), at.number("input1")}));
}

void equal(Emitter& emit, const Call& call) { comparison(emit, call, "aten::eq.Tensor"); }
void not_equal(Emitter& emit, const Call& call) { comparison(emit, call, "aten::ne.Tensor"); }
void greater(Emitter& emit, const Call& call) { comparison(emit, call, "aten::gt.Tensor"); }
void greater_equal(Emitter& emit, const Call& call) { comparison(emit, call, "aten::ge.Tensor"); }
void less(Emitter& emit, const Call& call) { comparison(emit, call, "aten::lt.Tensor"); }
void less_equal(Emitter& emit, const Call& call) { comparison(emit, call, "aten::le.Tensor"); }
void logical_and(Emitter& emit, const Call& call) { comparison(emit, call, "aten::logical_and"); }
void logical_or(Emitter& emit, const Call& call) { comparison(emit, call, "aten::logical_or"); }

void select(Emitter& emit, const Call& call) {
  const Pointwise at(emit, call, {"condition", "input1", "input2"});
  at.give_number(emit.call("aten::where.self",
                           {at.held("condition"), at.number("input1"), at.number("input2")}));
}

}  // namespace

NNAPI_OPERATION(ADD, add,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input0, T input1, INT32 activation) -> (T)");
NNAPI_OPERATION(SUB, sub,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input0, T input1, INT32 activation) -> (T)");
NNAPI_OPERATION(MUL, mul,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input0, T input1, INT32 activation) -> (T)");
NNAPI_OPERATION(DIV, div, "T in FLOAT TENSOR_INT32: (T input0, T input1, INT32 activation) -> (T)");
NNAPI_OPERATION(MAXIMUM, maximum, "T in FLOAT QUANT8 TENSOR_INT32: (T input0, T input1) -> (T)");
NNAPI_OPERATION(MINIMUM, minimum, "T in FLOAT QUANT8 TENSOR_INT32: (T input0, T input1) -> (T)");
NNAPI_OPERATION(POW, pow, "T in FLOAT: (T base, T exponent) -> (T)");
NNAPI_OPERATION(PRELU, prelu, "T in FLOAT QUANT8: (T input, T alpha) -> (T)");

#define COMPARISON \
  "T in FLOAT QUANT8 TENSOR_INT32 TENSOR_BOOL8: (T input0, T input1) -> (TENSOR_BOOL8)"
NNAPI_OPERATION(EQUAL, equal, COMPARISON);
NNAPI_OPERATION(NOT_EQUAL, not_equal, COMPARISON);
NNAPI_OPERATION(GREATER, greater, COMPARISON);
NNAPI_OPERATION(GREATER_EQUAL, greater_equal, COMPARISON);
NNAPI_OPERATION(LESS, less, COMPARISON);
NNAPI_OPERATION(LESS_EQUAL, less_equal, COMPARISON);
NNAPI_OPERATION(LOGICAL_AND, logical_and,
                "(TENSOR_BOOL8 input0, TENSOR_BOOL8 input1) -> (TENSOR_BOOL8)");
NNAPI_OPERATION(LOGICAL_OR, logical_or,
                "(TENSOR_BOOL8 input0, TENSOR_BOOL8 input1) -> (TENSOR_BOOL8)");
NNAPI_OPERATION(
    SELECT, select,
    "T in FLOAT QUANT8 TENSOR_INT32: (TENSOR_BOOL8 condition, T input1, T input2) -> (T)");

}  // namespace torchlet::nn
