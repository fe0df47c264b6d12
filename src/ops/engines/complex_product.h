// Products of complex numbers of floats.
#pragma once

#include "ops/engines/elementwise.h"

namespace torchlet::ops {

inline bool is_complex64(DType dtype) { return dtype == DType::kComplex64; }

// self * other, broadcast, as complex64: in float, without a look at what is not finite, as PyTorch
// computes it.
Tensor mul_complex64(const Tensor& self, const Tensor& other);

}  // namespace torchlet::ops
