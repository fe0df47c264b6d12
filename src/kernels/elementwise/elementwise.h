#pragma once

#include <cstdint>

namespace torchlet::kernels {

// What the reference operators ask of contiguous floats, in terms of the kernels of
// elementwise_nhwc.h: as accurate as stated, where plans may do with less. The output may be the
// input; it may not overlap it otherwise. NaN goes through every function, as in PyTorch. All run
// on the threads of base/thread_pool.

enum class UnaryOp {
  kClamp,        // to [alpha, beta]: relu is [0, inf], relu6 [0, 6]
  kLeakyRelu,    // x > 0 ? x : alpha x
  kElu,          // x > 0 ? x : alpha (e^x - 1)
  kHardSigmoid,  // clamp(x + 3, 0, 6) / 6
  kHardSwish,    // x clamp(x + 3, 0, 6) / 6
  kExp,          // 1 ulp
  kErf,          // 1.2 ulp
  kSigmoid,      // 2 ulp
  kTanh,         // 2 ulp
  kSilu,         // x sigmoid(x)
  kGelu,         // x (1 + erf(x / sqrt 2)) / 2
  kGeluTanh,     // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
};

// y[i] = op(x[i]), 0 <= i < n.
void unary_f32(UnaryOp op, const float* x, float* y, int64_t n, float alpha = 0, float beta = 0);

}  // namespace torchlet::kernels
