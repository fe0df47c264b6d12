#pragma once

#include <cstdint>
#include <limits>

namespace torchlet::kernels {

// Functions of contiguous floats. An output may be one of the inputs; it may not overlap one
// otherwise. NaN goes through every function, as in PyTorch. All run on the threads of
// base/thread_pool.

enum class UnaryOp {
  kClamp,        // to [alpha, beta]: relu is [0, inf], relu6 [0, 6]
  kLeakyRelu,    // x > 0 ? x : alpha x
  kElu,          // x > 0 ? x : alpha (e^x - 1)
  kHardSigmoid,  // clamp(x + 3, 0, 6) / 6
  kHardSwish,    // x clamp(x + 3, 0, 6) / 6
  kExp,          // 1 ulp
  kErf,          // 1.2 ulp
  kSigmoid,      // 2 ulp
  kTanh,         // 1.3 ulp
  kSilu,         // x sigmoid(x)
  kGelu,         // x (1 + erf(x / sqrt 2)) / 2
  kGeluTanh,     // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
};

// y[i] = op(x[i]), 0 <= i < n.
void unary_f32(UnaryOp op, const float* x, float* y, int64_t n, float alpha = 0, float beta = 0);

enum class BinaryOp { kAdd, kSub, kMul, kDiv, kMax, kMin };

// y[i] = op(a[i * a_step], b[i * b_step]). A step is 1, or 0 for a scalar; not both are 0.
void binary_f32(BinaryOp op, const float* a, int64_t a_step, const float* b, int64_t b_step,
                float* y, int64_t n);

// y[o, c, i] = clamp(x[o, c, i] * scale[c] + shift[c], min, max) over [outer, channels, inner]: a
// batch normalization in its simplest form. Channels-last data has inner == 1.
void scale_shift_f32(const float* x, const float* scale, const float* shift, float* y,
                     int64_t outer, int64_t channels, int64_t inner,
                     float min = -std::numeric_limits<float>::infinity(),
                     float max = std::numeric_limits<float>::infinity());

}  // namespace torchlet::kernels
