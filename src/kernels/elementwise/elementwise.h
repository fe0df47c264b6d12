#pragma once

#include <cstdint>

namespace torchlet::kernels {

// What the reference operators ask of contiguous floats, in terms of the kernels of
// elementwise_nhwc.h: as accurate as stated, where plans may do with less. The output may be the
// input; it may not overlap it otherwise. NaN goes through every function, as in PyTorch. All run
// on the threads of base/thread_pool.

// y[i] = f(x[i]), 0 <= i < n, for an f of the parameters stated below. Each is a function of its
// own, so that an app's small library holds those alone that its operators name.
using UnaryFunction = void(const float* x, float* y, int64_t n, float alpha, float beta);

UnaryFunction clamp_f32,  // to [alpha, beta]: relu is [0, inf], relu6 [0, 6]
    leaky_relu_f32,       // x > 0 ? x : alpha x
    hardsigmoid_f32,      // clamp(x + 3, 0, 6) / 6
    hardswish_f32,        // x clamp(x + 3, 0, 6) / 6
    exp_f32,              // 1 ulp
    erf_f32,              // 1.2 ulp
    sigmoid_f32,          // 2 ulp
    tanh_f32,             // 2 ulp
    silu_f32,             // x sigmoid(x)
    gelu_f32,             // x (1 + erf(x / sqrt 2)) / 2
    gelu_tanh_f32,        // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
    tan_f32,              // 3 ulp
    asin_f32,             // 3 ulp
    acos_f32,             // 2 ulp
    atan_f32,             // 2 ulp
    sinh_f32,             // 4 ulp
    cosh_f32,             // 4 ulp
    erfc_f32;             // 4 ulp

// to[i] = x[i]^y[i], 0.6 ulp, on the calling thread.
void pow_f32(const float* x, const float* y, float* to, int64_t n);

}  // namespace torchlet::kernels
