#pragma once

#include <cstdint>

#include "kernels/pool_nhwc.h"

namespace torchlet::kernels {

// The greatest byte under the window, 0 if all of it is padding. Else as max_pool_nhwc_f32.
void max_pool_nhwc_q8(const PoolShape& shape, const uint8_t* input, int64_t input_stride,
                      uint8_t* output, int64_t output_stride);

}  // namespace torchlet::kernels
