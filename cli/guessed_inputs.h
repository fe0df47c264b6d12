// Inputs for models that nobody gave any.
#pragma once

#include <torchlet/module.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/inputs.h"

namespace torchlet::cli {

// Pseudo-random numbers that the method takes: a float32 picture [1, 3, 224, 224], or what the
// first weight among the parameters could be for, a convolution's of usual sizes or a linear
// layer's; one picture [3, h, w] in a list for List[Tensor]. Nothing if the method takes something
// else, or runs with none of these; each is tried on a copy of the model.
std::optional<std::vector<Value>> guessed_inputs(const Module& module, const std::string& method);

// What the command line names, else those guessed. CLI::ValidationError if there are none.
std::vector<Value> inputs_or_guess(const InputOptions& options, const Module& module,
                                   const std::string& method);

}  // namespace torchlet::cli
