// Inputs that a model file carries (torch/utils/bundled_inputs.py): small ones are kept as they
// are, constant and random ones are made anew by the program. bundle.h adds them.
#pragma once

#include <torchlet/export.h>
#include <torchlet/module.h>
#include <torchlet/value.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torchlet {

// The arguments of each bundled call of the method, in order; runs a method of the model. Error
// kNotFound if the model carries none for it.
TORCHLET_API std::vector<std::vector<Value>> bundled_inputs(const Module& module,
                                                            std::string_view method = "forward");

// The methods that have bundled calls, with what the file tells about each call: as many texts as
// calls, or none. Runs a method of the model.
TORCHLET_API std::vector<std::pair<std::string, std::vector<std::string>>> bundled_methods(
    const Module& module);

}  // namespace torchlet
