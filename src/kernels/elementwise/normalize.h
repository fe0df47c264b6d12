#pragma once

#include <cstdint>

#include "kernels/nhwc.h"

namespace torchlet::kernels {

// Functions of each row of a matrix [rows, cols], cols >= 1. An output may be the input itself. NaN
// goes through, as in PyTorch. All run on the threads of base/thread_pool.

// Rows that are `stride` >= cols elements apart.

// y = e^(x - max) / sum over the row, or its logarithm.
void softmax_rows_f32(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows,
                      int64_t cols);
void log_softmax_rows_f32(const float* x, int64_t x_stride, float* y, int64_t y_stride,
                          int64_t rows, int64_t cols);

// The same down the columns of contiguous matrices [matrices, rows, cols].
void softmax_columns_f32(const float* x, float* y, int64_t matrices, int64_t rows, int64_t cols);
void log_softmax_columns_f32(const float* x, float* y, int64_t matrices, int64_t rows,
                             int64_t cols);

// y = (x - mean) / sqrt(variance + eps) * weight + bias; weight and bias are [cols] or null.
void layer_norm_rows_f32(const float* x, int64_t x_stride, const float* weight, const float* bias,
                         float* y, int64_t y_stride, int64_t rows, int64_t cols, float eps);

// y = x / max(sqrt(sum of x^2), eps).
void l2_normalize_rows_f32(const float* x, int64_t x_stride, float* y, int64_t y_stride,
                           int64_t rows, int64_t cols, float eps);

// Contiguous matrices.

// out[r] = sum of row r.
void row_sums_f32(const float* x, float* out, int64_t rows, int64_t cols);

// Mean and biased variance of each row, in two passes.
void row_moments_f32(const float* x, float* mean, float* variance, int64_t rows, int64_t cols);

inline void softmax_f32(const float* x, float* y, int64_t rows, int64_t cols) {
  softmax_rows_f32(x, cols, y, cols, rows, cols);
}
inline void log_softmax_f32(const float* x, float* y, int64_t rows, int64_t cols) {
  log_softmax_rows_f32(x, cols, y, cols, rows, cols);
}
inline void layer_norm_f32(const float* x, const float* weight, const float* bias, float* y,
                           int64_t rows, int64_t cols, float eps) {
  layer_norm_rows_f32(x, cols, weight, bias, y, cols, rows, cols, eps);
}

// A picture's channels are normalized in `groups` groups, each with the mean and the variance over
// its channels and all pixels of the picture: y = activation((x - mean) / sqrt(variance + eps) *
// weight + bias), where weight and bias are [channels] or null. Instance norm has a group per
// channel.
void group_norm_nhwc_f32(int64_t batch, int64_t pixels, int64_t channels, int64_t groups,
                         const float* x, int64_t x_stride, const float* weight, const float* bias,
                         float eps, const Activation& activation, float* y, int64_t y_stride);

}  // namespace torchlet::kernels
