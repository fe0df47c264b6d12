#pragma once

#include "kernels/nhwc.h"

namespace torchlet::kernels {

// A pointwise convolution between contiguous tensors [batch, channels, pixels], for which no order
// has to change.
struct PointwisePlanesShape {
  int64_t batch, in_channels, out_channels, pixels;
};

// Whether it is faster than changes of order around a convolution of images.
bool suits_pointwise_planes(const PointwisePlanesShape& shape);

// `packed` is that of conv_nhwc_f32. Of the epilogue: bias and activation.
void pointwise_planes_f32(const PointwisePlanesShape& shape, const float* input, const void* packed,
                          const EpilogueF32& epilogue, float* output);

}  // namespace torchlet::kernels
