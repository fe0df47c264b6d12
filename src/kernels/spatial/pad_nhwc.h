#pragma once

#include <cstdint>

namespace torchlet::kernels {

// What is put around: one value, or pixels of the image, as if it were mirrored at its outermost
// pixels, they went on, or it did.
enum class PadMode : uint8_t { kConstant, kReflect, kReplicate, kCircular };

// Pixels around NHWC images.
struct PadShape {
  int64_t batch = 1;
  int64_t channels = 0;
  int64_t in_h = 0, in_w = 0;
  // None negative, and no more than what the image has to put there.
  int64_t left = 0, right = 0, top = 0, bottom = 0;
  PadMode mode = PadMode::kConstant;
};

// Elements of `element_size` bytes, 1, 2 or 4; `value` is the one that kConstant puts around.
// Strides are from pixel to pixel, in elements. Runs on the threads of base/thread_pool; input and
// output do not overlap.
void pad_nhwc(int64_t element_size, const PadShape& shape, const void* value, const void* input,
              int64_t input_stride, void* output, int64_t output_stride);

}  // namespace torchlet::kernels
