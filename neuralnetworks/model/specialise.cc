#include "neuralnetworks/model/specialise.h"

#include <utility>

namespace torchlet::nn {

void fix_input(Model& model, size_t i, std::span<const std::byte> value,
               std::shared_ptr<const void> keep_alive) {
  Operand& operand = model.operands[model.inputs[i]];
  operand.lifetime = value.data() ? Lifetime::kConstant : Lifetime::kOmitted;
  operand.value = value;
  operand.keep_alive = std::move(keep_alive);
}

}  // namespace torchlet::nn
