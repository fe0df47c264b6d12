#include "neuralnetworks/operations/pointwise.h"

#include <vector>

namespace torchlet::nn {
namespace {

bool is_computed_as_it_is(int32_t type) {
  return type == ANEURALNETWORKS_TENSOR_INT32 || type == ANEURALNETWORKS_TENSOR_BOOL8;
}

bool lie_as_images(Emitter& emit, const Call& call,
                   std::initializer_list<std::string_view> inputs) {
  std::vector<uint32_t> operands;
  for (const std::string_view name : inputs) operands.push_back(call.index(name));
  return emit.as_images(operands);
}

}  // namespace

Pointwise::Pointwise(Emitter& emit, const Call& call,
                     std::initializer_list<std::string_view> inputs)
    : emit_(emit), call_(call), as_images_(lie_as_images(emit, call, inputs)) {}

bool Pointwise::is_quantized() const { return nn::is_quantized(call_.output().type); }

SsaValue* Pointwise::held(std::string_view name) const {
  return as_images_ ? emit_.image(call_.index(name)) : emit_.value(call_, name);
}

SsaValue* Pointwise::real(std::string_view name) const {
  return emit_.to_real(held(name), call_.operand(name));
}

SsaValue* Pointwise::number(std::string_view name) const {
  return is_computed_as_it_is(call_.operand(name).type) ? held(name) : real(name);
}

void Pointwise::give(SsaValue* held) const {
  as_images_ ? emit_.give_image(call_.output_index(), held) : emit_.give(call_, held);
}

void Pointwise::give_number(SsaValue* number) const {
  is_computed_as_it_is(call_.output().type) ? give(number) : give_real(number);
}

}  // namespace torchlet::nn
