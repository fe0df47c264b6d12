#pragma once

#include <cstdint>

#include "kernels/quantized/elementwise_q8.h"
#include "kernels/spatial/pool_nhwc.h"

namespace torchlet::kernels {

// The greatest byte under the window, 0 if all of it is padding. Else as max_pool_nhwc.
void max_pool_nhwc_q8(const PoolShape& shape, const uint8_t* input, int64_t input_stride,
                      uint8_t* output, int64_t output_stride);

// The average under windows that lie in the input, quantized as the input is: with QNNPACK's
// rounding (qnnpack/src/average-pooling.c), sum of (x - zero) times scale / (scale * pixels).
void avg_pool_nhwc_q8(const PoolShape& shape, const AffineQ8& quantization, const uint8_t* input,
                      int64_t input_stride, uint8_t* output, int64_t output_stride);

}  // namespace torchlet::kernels
