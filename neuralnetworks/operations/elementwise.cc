// Operations on corresponding elements, which are broadcast as in NumPy.
#include "neuralnetworks/operations/operation.h"
#include "neuralnetworks/translate/emitter.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {
namespace {

// Gives `compute` of both inputs, in float32 or int32.
template <typename F>
void binary(Emitter& emit, const Call& call, const F& compute) {
  const uint32_t inputs[] = {call.index("input0"), call.index("input1")};
  const bool as_images = emit.as_images(inputs);
  const auto operand = [&](uint32_t index) {
    SsaValue* held = as_images ? emit.image(index) : emit.value(index);
    const Operand& type = call.model().operands[index];
    return type.type == ANEURALNETWORKS_TENSOR_INT32 ? held : emit.to_real(held, type);
  };
  SsaValue* result =
      emit.activate(compute(operand(inputs[0]), operand(inputs[1])), call.integer("activation"));
  if (call.output().type != ANEURALNETWORKS_TENSOR_INT32) {
    result = emit.from_real(result, call.output());
  }
  as_images ? emit.give_image(call.output_index(), result) : emit.give(call, result);
}

void add(Emitter& emit, const Call& call) {
  binary(emit, call, [&](SsaValue* a, SsaValue* b) {
    return emit.call("aten::add.Tensor", {a, b});
  });
}

}  // namespace

NNAPI_OPERATION(ADD, add,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input0, T input1, INT32 activation) -> (T)");

}  // namespace torchlet::nn
