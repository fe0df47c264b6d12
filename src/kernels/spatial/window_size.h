// How many places a window has in one dimension.
#pragma once

#include <cstdint>

namespace torchlet::kernels {

// No kernel, stride, padding or dilation is larger, so that what a kernel computes of them,
// products of two included, fits into 64 bits.
inline constexpr int64_t kMostOfWindow = INT32_MAX;

// Inputs from the first to the last that a window covers, both included. Error kInvalidArgument
// beyond kMostOfWindow.
int64_t window_reach(int64_t kernel, int64_t dilation);

// The size of one output dimension in PyTorch's rules; `pad` is on each side. Error
// kInvalidArgument beyond kMostOfWindow, or if a size overflows.
//
// 0 if the window does not fit.
int64_t sliding_output_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad,
                            int64_t dilation);
// at::native::pooling_output_shape: with ceil_mode the last window may reach over the padding, but
// must begin inside the input or the padding before it. Below 1 if the window does not fit.
int64_t pooled_output_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad,
                           int64_t dilation, bool ceil_mode);
// Of a transposed convolution. Below 1 if it has no output.
int64_t transposed_output_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad,
                               int64_t dilation, int64_t output_padding);

}  // namespace torchlet::kernels
