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

struct NnapiModuleParts {
  // Expressions that make tensors like the outputs, as NNAPI gives them; with `open` they may read
  // the variable `size`.
  std::vector<std::string> templates;
  bool has_quantized_weights;  // that NNAPI gets dequantized
  const OpenSize* open;        // may be null
};

// The classes ShapeComputeModule and NnapiModule, as PyTorch's converter calls them.
std::string nnapi_module_source(const std::string& package, const NnapiModuleParts& parts);

}  // namespace torchlet::prepare
