#pragma once

// Inside of pool_nhwc: one pixel.

#include <cstdint>

#include "kernels/half/float16.h"

namespace torchlet::kernels {

// What lies under the window of one output pixel: `rows` x `columns` pixels of the input.
template <typename T>
struct PooledPixel {
  const T* input;
  int64_t rows, row_step;  // steps in elements
  int64_t columns, column_step;
  float divisor;  // of the sum
  T* output;
};

void pool_max(const PooledPixel<float>& pixel, int64_t channels);
void pool_mean(const PooledPixel<float>& pixel, int64_t channels);
void pool_max(const PooledPixel<Float16>& pixel, int64_t channels);
void pool_mean(const PooledPixel<Float16>& pixel, int64_t channels);  // sums in float32

}  // namespace torchlet::kernels
