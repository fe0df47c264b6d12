#pragma once

#include "kernels/conv_nhwc/dwconv_nhwc.h"

namespace torchlet::kernels {

// Inside of the depthwise convolutions: pictures of fewer channels than a vector has lanes, as
// colours are, whose planes are convolved in vectors of pixels.
bool dwconv_has_few_channels(const DwConvShape& shape, const EpilogueF32& epilogue);
// As dwconv_planes_f32(), with the weights that dwconv_nhwc_f32_pack() made.
void dwconv_few_channels(const DwConvShape& shape, bool reads_planes, const float* input,
                         int64_t input_stride, const float* packed, const EpilogueF32& epilogue,
                         bool writes_planes, float* output, int64_t output_stride);

}  // namespace torchlet::kernels
