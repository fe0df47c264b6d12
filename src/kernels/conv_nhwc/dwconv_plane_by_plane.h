#pragma once

#include "kernels/conv_nhwc/dwconv_nhwc.h"

namespace torchlet::kernels {

// Inside of the depthwise convolutions: planes are convolved one after the other in vectors of
// pixels. For pictures of up to four channels, or as many as do not fill a vector where tiles take
// whole ones alone, and between planes for windows of so few taps that changes of order would take
// longer.
bool dwconv_suits_plane_by_plane(const DwConvShape& shape, const EpilogueF32& epilogue,
                                 bool is_between_planes);
// As dwconv_planes_f32(), with the weights that dwconv_nhwc_f32_pack() made.
void dwconv_plane_by_plane(const DwConvShape& shape, bool reads_planes, const float* input,
                           int64_t input_stride, const float* packed, const EpilogueF32& epilogue,
                           bool writes_planes, float* output, int64_t output_stride);

}  // namespace torchlet::kernels
