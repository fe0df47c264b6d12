// Complex numbers of floats, which lie as pairs: `count` is of numbers, y may be one of the
// operands.
#pragma once

#include <cstdint>

namespace torchlet::kernels {

// y = a b, each part rounded as three operations on floats, so that the imaginary part of z times
// its conjugate is 0.
void multiply_complex(const float* a, const float* b, float* y, int64_t count);
// y = a / b, divided by b's larger part first, so that no square is too large or small. NaN where b
// is 0.
void divide_complex(const float* a, const float* b, float* y, int64_t count);
// y = the conjugate of a.
void conjugate_complex(const float* a, float* y, int64_t count);
// The absolute values of a, in double but for the last rounding; y does not overlap a.
void absolute_complex(const float* a, float* y, int64_t count);

}  // namespace torchlet::kernels
