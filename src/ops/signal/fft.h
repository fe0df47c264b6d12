// Fourier transforms of tensors along dimensions.
#pragma once

#include "ops/core/common.h"

namespace torchlet::ops {

enum class FftScale : int64_t { kNone = 0, kRootN = 1, kN = 2 };

// Complex to complex along `dims`.
Tensor fft_c2c(const Tensor& self, IntSpan dims, FftScale scale, bool forward);
// Real to complex along `dims`; if onesided only the first n / 2 + 1 values of the last of `dims`.
Tensor fft_r2c(const Tensor& self, IntSpan dims, FftScale scale, bool forward, bool onesided);
// Complex, holding the first half of a Hermitian sequence in the last of `dims`, to `last_size`
// real values there; the other dims are transformed too.
Tensor fft_c2r(const Tensor& self, IntSpan dims, FftScale scale, bool forward, int64_t last_size);

}  // namespace torchlet::ops
