#pragma once

// Inside of conv_nhwc: transposed convolutions to few channels, or to some that do not fill
// vectors. All taps of a pixel are one product, which is then added to the results that it reaches:
// a tap by itself would leave a part of a vector empty.

#include "kernels/conv_nhwc/conv_nhwc.h"

namespace torchlet::kernels {

// Whether this is the better way.
bool suits_scatter(const ConvNhwcShape& shape);

// As of conv_transpose_nhwc_f32.
size_t conv_scatter_packed_bytes(const ConvNhwcShape& shape);
void conv_scatter_pack(const ConvNhwcShape& shape, const float* weight, void* packed);
void conv_scatter(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                  const void* packed, const EpilogueF32& epilogue, float* output,
                  int64_t output_stride);

}  // namespace torchlet::kernels
