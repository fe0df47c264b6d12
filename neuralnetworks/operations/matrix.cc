// Products of matrices.
#include "base/error.h"
#include "neuralnetworks/operations/operation.h"
#include "neuralnetworks/translate/emitter.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {
namespace {

// The input as rows of as many elements as those of the weights have.
SsaValue* rows_of(Emitter& emit, const Call& call) {
  SsaValue* input = emit.value(call, "input");
  const size_t rank = call.operand("input").dims.size();
  TORCHLET_CHECK(rank != 1, "the input has one dimension, and has to have two or more");
  if (rank == 2) return input;
  return emit.call("aten::reshape", {input, {-1, emit.size(call.index("weights"), 1)}});
}

void fully_connected(Emitter& emit, const Call& call) {
  int64_t activation = call.integer("activation");
  const Operand& output = call.output();
  SsaValue* rows = rows_of(emit, call);
  if (!is_quantized(call.operand("input").type)) {
    SsaValue* result =
        emit.call("aten::linear", {emit.to_real(rows, call.operand("input")),
                                   emit.real(call, "weights"), emit.real(call, "bias")});
    return emit.give_real(call, emit.activate(result, activation));
  }
  activation = needed_activation(activation, output);
  SsaValue* weights = emit.value(call, "weights");
  SsaValue* filter = emit.call("nnapi::quantized_filter", {weights, {0, 1}});
  SsaValue* bias =
      emit.call("nnapi::quantized_bias",
                {emit.value(call, "bias"), double{call.operand("input").scale}, weights});
  SsaValue* packed = emit.call("quantized::linear_prepack", {filter, bias});
  const bool relu = activation == ANEURALNETWORKS_FUSED_RELU;
  SsaValue* result = emit.call(relu ? "quantized::linear_relu" : "quantized::linear",
                               {rows, packed, double{output.scale}, held_zero_point(output)});
  emit.give(call, relu ? result : emit.activate(result, activation));
}

void batch_matmul(Emitter& emit, const Call& call) {
  const bool is_int = call.output().type == ANEURALNETWORKS_TENSOR_INT32;
  const auto matrix = [&](const char* name, const char* is_transposed) {
    SsaValue* value = is_int ? emit.value(call, name) : emit.real(call, name);
    if (!call.boolean(is_transposed)) return value;
    return emit.call("aten::transpose.int", {value, -2, -1});
  };
  SsaValue* product =
      emit.call("aten::matmul", {matrix("input0", "adjoint0"), matrix("input1", "adjoint1")});
  is_int ? emit.give(call, product) : emit.give_real(call, product);
}

}  // namespace

NNAPI_OPERATION(FULLY_CONNECTED, fully_connected,
                "T in FLOAT QUANT8: (T input, T weights, BIAS(T) bias, INT32 activation) -> (T)");
NNAPI_OPERATION(BATCH_MATMUL, batch_matmul,
                "T in FLOAT TENSOR_QUANT8_ASYMM_SIGNED TENSOR_INT32: (T input0, T input1, BOOL "
                "adjoint0, BOOL adjoint1) -> (T)");

}  // namespace torchlet::nn
