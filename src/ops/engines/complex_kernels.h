// What complex numbers of floats have kernels for, and what their parts are made of: in float,
// without a look at what is not finite, as PyTorch computes it.
#pragma once

#include "ops/engines/elementwise.h"

namespace torchlet::ops {

inline bool has_complex_kernel(DType dtype) {
  return selection::kHasConversions && dtype == DType::kComplex64;
}

// self * other and self / other, broadcast, as complex64; the conjugate and the absolute values of
// a complex64 tensor.
Tensor mul_complex64(const Tensor& self, const Tensor& other);
Tensor div_complex64(const Tensor& self, const Tensor& other);
Tensor conj_complex64(const Tensor& self);
Tensor abs_complex64(const Tensor& self);

}  // namespace torchlet::ops
