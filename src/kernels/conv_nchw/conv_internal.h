#pragma once

// The parts of conv2d_f32 that are written for several instruction sets.

#include <cstdint>

#include "kernels/conv_nchw/conv2d.h"

namespace torchlet::kernels {

// Writes one slice of an im2col matrix [planes * kernel_h * kernel_w, out_h * out_w]: `k` rows, the
// first of which is tap number `tap` of planes[0], and columns [n0, n0 + n), to `to` with a stride
// of the panel width of gemm_f32. The last vector is filled up with zeros. A null plane is all
// padding.
void pack_im2col_f32(const Window2dShape& window, const float* const* planes, int64_t tap,
                     int64_t k, int64_t n0, int64_t n, float* to);

// True if each input channel has output channels of its own.
inline bool is_depthwise(const Conv2dShape& shape) {
  return shape.groups == shape.in_channels && shape.groups > 1;
}

void depthwise_conv2d_f32(const Conv2dShape& shape, const float* input, const float* weight,
                          const float* bias, float* output, float min, float max);

}  // namespace torchlet::kernels
