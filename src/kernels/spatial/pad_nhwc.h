#pragma once

#include <cstdint>

namespace torchlet::kernels {

// Pixels around NHWC images.
struct PadShape {
  int64_t batch = 1;
  int64_t channels = 0;
  int64_t in_h = 0, in_w = 0;
  int64_t left = 0, right = 0, top = 0, bottom = 0;  // none negative
};

// Elements of `element_size` bytes, 1, 2 or 4; `value` is the one that is put around. Strides are
// from pixel to pixel, in elements. Runs on the threads of base/thread_pool; input and output do
// not overlap.
void pad_nhwc(int64_t element_size, const PadShape& shape, const void* value, const void* input,
              int64_t input_stride, void* output, int64_t output_stride);

}  // namespace torchlet::kernels
