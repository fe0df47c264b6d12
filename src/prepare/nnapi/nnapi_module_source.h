// The classes of an NNAPI module as TorchScript.
#pragma once

#include <torchlet/tensor.h>

#include <string>
#include <vector>

#include "prepare/nnapi/nnapi_module.h"

namespace torchlet::prepare {

// The words of a model for any size of a dimension: base + size * step, int32.
struct OpenSize {
  InputDim dim;
  Tensor base, step;
};

// A module with the class names of PyTorch's converter, ShapeComputeModule and NnapiModule.
// `templates` are expressions that make tensors like the outputs, as NNAPI gives them; with `open`
// they may read the variable `size`.
std::string nnapi_module_source(const std::string& package,
                                const std::vector<std::string>& templates, const OpenSize* open);

}  // namespace torchlet::prepare
