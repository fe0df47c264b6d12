// Results where they are wanted.
#pragma once

#include "tensor/tensor_impl.h"

namespace torchlet {

// While it lives, the first tensor that this thread makes of new memory with the dtype, sizes and
// strides of `result`, is `result`: an operator that makes its result so need not be copied there.
// Any content goes, and nothing that the operator reads may lie in that memory. One at a time.
class ResultPlace {
 public:
  explicit ResultPlace(const Tensor& result);
  ~ResultPlace();
  ResultPlace(const ResultPlace&) = delete;
  ResultPlace& operator=(const ResultPlace&) = delete;
};

}  // namespace torchlet
