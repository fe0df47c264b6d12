#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quantized/elementwise_q8.h"
#include "kernels/quantized/layer_q8.h"

namespace torchlet::kernels {

// Dynamically quantized linear layers: real rows are quantized by their own range, multiplied by
// qint8 weights, and the sums are real numbers again.

// The smallest and the largest number of rows that are `stride` elements apart, and 0. NaN does not
// count.
struct RangeF32 {
  float low, high;
};
RangeF32 range_rows_f32(int64_t rows, int64_t columns, const float* x, int64_t stride);

// `layer` has weights [out, in], in < 33000; what it says of input and output is not used. `packed`
// is aligned to 64 bytes and belongs to the processor.
size_t linear_dynamic_q8_packed_bytes(int64_t in, int64_t out);
void linear_dynamic_q8_pack(int64_t in, int64_t out, const LayerQ8& layer, void* packed);

struct LinearDynamicQ8 {
  int64_t rows, in, out;
  const float* x;  // [rows, in]
  int64_t x_stride;
  AffineQ8 quantization;  // of x
  const void* packed;
  float low, high;  // of the results
  float* y;         // [rows, out]
  int64_t y_stride;
  uint8_t* work;  // of linear_dynamic_q8_work_bytes
};
int64_t linear_dynamic_q8_work_bytes(int64_t rows, int64_t in);

// y = clamp(float(sum over (q(x) - zero)(w - zero)) * (weight scale * x scale) + bias, low, high),
// each operation rounded as it stands here. Runs on the threads of base/thread_pool.
void linear_dynamic_q8(const LinearDynamicQ8& linear);

}  // namespace torchlet::kernels
