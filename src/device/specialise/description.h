// What is known of a tensor before its elements are.
#pragma once

#include <memory>

#include "tensor/tensor_impl.h"

namespace torchlet::device {

struct TensorDescription {
  DType dtype;
  IntArray sizes, strides;  // as the program has them
  std::shared_ptr<const Quantizer> quantizer;
};

TensorDescription describe(const Tensor& tensor);
// A tensor like that without memory (tensor/meta.h).
Tensor meta_tensor(const TensorDescription& description);

}  // namespace torchlet::device
