#pragma once

// Inside of conv3d_nhwc: convolutions of small volumes tap by tap. Most windows there reach over an
// edge, and only pixels that exist are multiplied: what a tap sees is put together, multiplied by
// its weights and added to the sums, which wait in the second-level cache. All weights are read
// once.

#include "kernels/conv_nhwc/conv3d_nhwc.h"

namespace torchlet::kernels {

// Whether this is better than to copy whole windows.
bool suits_taps(const Conv3dNhwcShape& shape);

// packed: [taps * in_channels, out_channels] as panels (gemm_nhwc.h).
void conv3d_taps(const Conv3dNhwcShape& shape, const float* input, int64_t input_stride,
                 const float* packed, const EpilogueF32& epilogue, float* output,
                 int64_t output_stride);

}  // namespace torchlet::kernels
