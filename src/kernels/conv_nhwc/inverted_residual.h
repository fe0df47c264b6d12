#pragma once

#include <cstdint>

#include "kernels/nhwc.h"
#include "kernels/spatial/window.h"

namespace torchlet::kernels {

// The block of MobileNetV2: a pointwise convolution to `hidden_channels`, a depthwise one and a
// pointwise one to `out_channels`, computed strip by strip of rows, so that the wide image between
// them never leaves the second-level cache.
struct InvertedResidualShape {
  int64_t batch = 1;
  int64_t in_channels = 0, hidden_channels = 0, out_channels = 0;
  Window2dShape window;                           // of the depthwise convolution
  WeightFormat weights = WeightFormat::kFloat32;  // of the pointwise ones, as in ConvNhwcShape
};

// Weights as conv_nhwc_f32_pack and dwconv_nhwc_f32_pack made them, or those of Float16.
template <typename T>
struct InvertedResidual {
  const void* expand = nullptr;  // null: the input is the hidden image (in = hidden channels)
  Epilogue<T> expand_epilogue;   // without a residual
  const void* depthwise = nullptr;
  Epilogue<T> depthwise_epilogue;  // without a residual
  // Null: the output is that of the depthwise convolution (out = hidden channels).
  const void* project = nullptr;
  Epilogue<T> project_epilogue;
};

// Whether this is faster than the kernels one after the other.
bool inverted_residual_pays(const InvertedResidualShape& shape, int64_t element_size);

// Of float or Float16. Runs on the threads of base/thread_pool. Strides are from pixel to pixel, in
// elements. The output overlaps neither the input nor the residual.
template <typename T>
void inverted_residual(const InvertedResidualShape& shape, const T* input, int64_t input_stride,
                       const InvertedResidual<T>& layers, T* output, int64_t output_stride);

}  // namespace torchlet::kernels
