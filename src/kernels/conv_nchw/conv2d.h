#pragma once

#include <cstdint>
#include <limits>

#include "kernels/spatial/window.h"

namespace torchlet::kernels {

// A 2d convolution over contiguous NCHW data. A 1d convolution is one of height 1.
//   input  [batch, in_channels, in_h, in_w]
//   weight [out_channels, in_channels / groups, kernel_h, kernel_w]
//   output [batch, out_channels, out_h, out_w]
// Pixels outside of the input are zero. One plane of the input has fewer than 2^31 pixels.
struct Conv2dShape {
  int64_t batch = 1;
  int64_t in_channels, out_channels;
  int64_t groups = 1;
  Window2dShape window;
  bool lean = false;  // packed weights take no more memory for the sake of speed
};

// `bias` is [out_channels] or null. The result is clamped to [min, max]; NaN stays NaN. Runs on
// the threads of base/thread_pool.
void conv2d_f32(const Conv2dShape& shape, const float* input, const float* weight,
                const float* bias, float* output,
                float min = -std::numeric_limits<float>::infinity(),
                float max = std::numeric_limits<float>::infinity());

// The transposed convolution, the gradient of conv2d_f32 with respect to its input: here the window
// slides over the output.
//   input  [batch, in_channels, window.out_h, window.out_w]
//   weight [in_channels, out_channels / groups, kernel_h, kernel_w]
//   output [batch, out_channels, window.in_h, window.in_w]
void conv_transpose2d_f32(const Conv2dShape& shape, const float* input, const float* weight,
                          const float* bias, float* output);

// A 3d convolution over contiguous NCDHW data, weight [out_channels, in_channels / groups,
// kernel_d, kernel_h, kernel_w]. `planes` describes everything but the depth.
struct Conv3dShape {
  Conv2dShape planes;
  int64_t in_d, out_d, kernel_d;
  int64_t stride_d = 1, pad_d = 0, dilation_d = 1;
};
void conv3d_f32(const Conv3dShape& shape, const float* input, const float* weight,
                const float* bias, float* output);

}  // namespace torchlet::kernels
