#pragma once

// Inside of conv_nhwc_f32: the first layer of a network, whose image has up to four channels and
// whose window is larger than one pixel.
//
// A few lines of the image are copied with their padding, NHWC, so that every window of them can be
// read in place; the copy stays in the first-level cache. It can as well be made from planes.

#include <cstdint>

#include "kernels/conv_nhwc.h"

namespace torchlet::kernels {

struct FewChannelsInput {
  const float* data;
  int64_t pixel_stride;    // of an NHWC image
  bool is_planes = false;  // contiguous NCHW
};

bool has_few_channels(const ConvNhwcShape& shape);

// For shapes with has_few_channels(shape); `packed` is that of conv_nhwc_f32_pack.
void conv_few_channels_f32(const ConvNhwcShape& shape, const FewChannelsInput& input,
                           const float* packed, const EpilogueF32& epilogue, float* output,
                           int64_t output_stride);

}  // namespace torchlet::kernels
