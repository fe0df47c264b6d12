// Models in which inputs have become constants.
#pragma once

#include "neuralnetworks/model/model.h"

namespace torchlet::nn {

// Input i is a constant of these bytes from now on, or omitted if they are null. The number of
// inputs stays as it is.
void fix_input(Model& model, size_t i, std::span<const std::byte> value,
               std::shared_ptr<const void> keep_alive);

}  // namespace torchlet::nn
