#pragma once

#include <cstdint>

#include "kernels/nhwc.h"
#include "kernels/window.h"

namespace torchlet::kernels {

// The block of MobileNetV2: a pointwise convolution to `hidden_channels`, a depthwise one and a
// pointwise one to `out_channels`, computed strip by strip of rows, so that the wide image between
// them never leaves the second-level cache.
struct InvertedResidualShape {
  int64_t batch = 1;
  int64_t in_channels = 0, hidden_channels = 0, out_channels = 0;
  Window2dShape window;  // of the depthwise convolution
};

// Weights as conv_nhwc_f32_pack and dwconv_nhwc_f32_pack made them.
struct InvertedResidualF32 {
  const void* expand = nullptr;  // null: the input is the hidden image (in = hidden channels)
  EpilogueF32 expand_epilogue;   // without a residual
  const void* depthwise = nullptr;
  EpilogueF32 depthwise_epilogue;  // without a residual
  const void* project = nullptr;
  EpilogueF32 project_epilogue;
};

// Whether this is faster than the three kernels one after the other.
bool inverted_residual_pays(const InvertedResidualShape& shape);

// Runs on the threads of base/thread_pool. Strides are from pixel to pixel, in elements. The output
// overlaps neither the input nor the residual.
void inverted_residual_f32(const InvertedResidualShape& shape, const float* input,
                           int64_t input_stride, const InvertedResidualF32& layers, float* output,
                           int64_t output_stride);

}  // namespace torchlet::kernels
