#pragma once

#include <cstdint>

namespace torchlet::kernels {

// Functions of each row of a contiguous matrix [rows, cols], cols >= 1. An output may be the input
// itself. NaN goes through, as in PyTorch. All run on the threads of base/thread_pool.

// out[r] = sum of row r.
void row_sums_f32(const float* x, float* out, int64_t rows, int64_t cols);

// Mean and biased variance of each row, in two passes.
void row_moments_f32(const float* x, float* mean, float* variance, int64_t rows, int64_t cols);

// y = e^(x - max) / sum over the row, or its logarithm.
void softmax_f32(const float* x, float* y, int64_t rows, int64_t cols);
void log_softmax_f32(const float* x, float* y, int64_t rows, int64_t cols);

// y = (x - mean) / sqrt(variance + eps) * weight + bias; weight and bias are [cols] or null.
void layer_norm_f32(const float* x, const float* weight, const float* bias, float* y, int64_t rows,
                    int64_t cols, float eps);

}  // namespace torchlet::kernels
