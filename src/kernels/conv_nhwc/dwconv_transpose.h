#pragma once

// Inside of conv_nhwc: transposed convolutions whose channels have a filter each. Outputs in steps
// of the stride see the same taps, so that each such phase is a depthwise convolution of the input,
// whose pixels it writes a stride apart.

#include "kernels/conv_nhwc/conv_nhwc.h"

namespace torchlet::kernels {

// As of conv_transpose_nhwc_f32, of shapes that conv_transpose_is_depthwise().
size_t dwconv_transpose_packed_bytes(const ConvNhwcShape& shape);
void dwconv_transpose_pack(const ConvNhwcShape& shape, const float* weight, void* packed);
void dwconv_transpose(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                      const void* packed, const EpilogueF32& epilogue, float* output,
                      int64_t output_stride);

}  // namespace torchlet::kernels
