#pragma once

// Inside of conv_nhwc: images of few channels, as the first layer of a network has, or groups of few
// channels, with windows larger than one pixel.
//
// A few lines of the image are copied with their padding, NHWC, so that every window of them can be
// read in place; the copy stays in the first-level cache. It can as well be made from planes.

#include <cstdint>

#include "kernels/conv_nhwc/conv_nhwc.h"

namespace torchlet::kernels {

// One of the two.
template <typename T>
struct FewChannelsInput {
  const T* pixels = nullptr;  // NHWC
  int64_t pixel_stride = 0;
  const float* planes = nullptr;  // contiguous NCHW
};

bool has_few_channels(const ConvNhwcShape& shape);
// Whether these can be read from planes, too.
bool may_read_planes(const ConvNhwcShape& shape);

// For shapes with has_few_channels(shape), of float and Float16; `packed` as of conv_nhwc_f32_pack.
template <typename T>
void conv_few_channels(const ConvNhwcShape& shape, const FewChannelsInput<T>& input,
                       const T* packed, const Epilogue<T>& epilogue, T* output,
                       int64_t output_stride);

// to[i * to_channels + c] = planes[c * plane_stride + i] for i < count, 0 for c >= channels.
void interleave_planes(const float* planes, int64_t plane_stride, int64_t channels, int64_t count,
                       Float16* to, int64_t to_channels);

}  // namespace torchlet::kernels
