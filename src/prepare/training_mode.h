// Models that were saved in the middle of training.
#pragma once

#include <torchlet/module.h>

#include <optional>
#include <string>

namespace torchlet::prepare {

// A model whose attributes may be changed while the given one stays as it is; tensors share their
// memory. With `eval` the attribute `training` of all of its modules is false (PyTorch's
// Module.eval()).
Module working_copy(const Module& module, bool eval);

// The path of some module whose attribute `training` is true, "" for the model itself; nothing if
// there is none.
std::optional<std::string> module_in_training(const Module& module);

}  // namespace torchlet::prepare
