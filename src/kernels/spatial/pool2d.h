#pragma once

#include <cstdint>

#include "kernels/spatial/window.h"

namespace torchlet::kernels {

// Pooling of `planes` contiguous planes [in_h, in_w] to [out_h, out_w]; NCHW data has batch *
// channels of them. Both run on the threads of base/thread_pool.

// The greatest value under the window; NaN if one is under it, -inf if all of it is padding.
void max_pool2d_f32(const Window2dShape& window, const float* x, float* y, int64_t planes);

// The sum under the window divided by `divisor`, or, where that is 0, by the number of pixels under
// the window: those of the input, and with count_include_pad also the pad_h and pad_w pixels around
// it. Dilation is 1.
void avg_pool2d_f32(const Window2dShape& window, bool count_include_pad, int64_t divisor,
                    const float* x, float* y, int64_t planes);

}  // namespace torchlet::kernels
