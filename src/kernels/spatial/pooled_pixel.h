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

// Where the greatest of them are, for each channel: input[0] is place `first` of its plane.
struct PooledPlaces {
  const float* input;
  int64_t rows, row_step;  // steps in elements
  int64_t columns, column_step;
  int64_t first, row_places, column_places;  // steps in places
  int64_t* output;
};

void pool_places(const PooledPlaces& pixel, int64_t channels);
void pool_max(const PooledPixel<float>& pixel, int64_t channels);
void pool_mean(const PooledPixel<float>& pixel, int64_t channels);
void pool_max(const PooledPixel<Float16>& pixel, int64_t channels);
void pool_mean(const PooledPixel<Float16>& pixel, int64_t channels);  // sums in float32

}  // namespace torchlet::kernels
