#include "kernels/conv_nhwc/dwconv_plane_by_plane.h"

#include <algorithm>

#include "base/selection.h"
#include "kernels/conv_nchw/conv_internal.h"
#include "kernels/conv_nhwc/dwconv_task.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"

namespace torchlet::kernels {

bool dwconv_suits_plane_by_plane(const DwConvShape& shape, const EpilogueF32& epilogue,
                                 bool is_between_planes) {
  if constexpr (!selection::kHasRareConvolutions) return false;
  constexpr int64_t kLeastColumns = 16, kLeastPixels = 1024;  // that are worth laying apart
  constexpr int64_t kFewTaps = 4, kFewTapsOfLine = 8, kFewChannels = 4;
  const Window2dShape& s = shape.window;
  if (shape.group != 1 || epilogue.residual || s.out_w < kLeastColumns ||
      s.out_h * s.out_w < kLeastPixels) {
    return false;
  }
  if (is_between_planes) {
    const int64_t few_taps = s.out_h == 1 ? kFewTapsOfLine : kFewTaps;
    if (s.kernel_h * s.kernel_w <= few_taps) return true;
  } else if (shape.channels > kFewChannels && shape.channels >= dwconv_least_channels()) {
    return false;
  }
  return shape.channels < kDwConvBlock<float>;
}

void dwconv_plane_by_plane(const DwConvShape& shape, bool reads_planes, const float* input,
                           int64_t input_stride, const float* packed, const EpilogueF32& epilogue,
                           bool writes_planes, float* output, int64_t output_stride) {
  const Window2dShape& s = shape.window;
  const int64_t channels = shape.channels, taps = s.kernel_h * s.kernel_w;
  const int64_t in_plane = s.in_h * s.in_w, out_plane = s.out_h * s.out_w;
  const Scratch<float> weights(channels * taps);
  for (int64_t block = 0; block < dwconv_blocks<float>(channels); ++block) {
    constexpr int64_t kBlock = kDwConvBlock<float>;
    const int64_t channel = dwconv_block_channel<float>(channels, block);
    transpose_f32(taps, std::min(kBlock, channels - channel), packed + block * taps * kBlock,
                  kBlock, weights.data() + channel * taps, taps);
  }
  const Scratch<float> planes_in(reads_planes ? 0 : channels * in_plane);
  const Scratch<float> planes_out(writes_planes ? 0 : channels * out_plane);
  const bool is_clamped = is_clamp(epilogue.activation);
  const Bounds bounds = bounds_of(is_clamped ? epilogue.activation : Activation{});
  // All pictures at once, unless one at a time is laid apart.
  const bool is_whole = reads_planes && writes_planes;
  const Conv2dShape planes{.batch = is_whole ? shape.batch : 1,
                           .in_channels = channels,
                           .out_channels = channels,
                           .groups = channels,
                           .window = s};
  for (int64_t i = 0; i < shape.batch; i += planes.batch) {
    const float* from = input + i * channels * in_plane;
    if (!reads_planes) {
      transpose_f32(in_plane, channels, input + i * in_plane * input_stride, input_stride,
                    planes_in.data(), in_plane);
      from = planes_in.data();
    }
    float* const to = writes_planes ? output + i * channels * out_plane : planes_out.data();
    depthwise_conv2d_f32(planes, from, weights.data(), epilogue.bias, to, bounds.low, bounds.high);
    if (!is_clamped) {
      activate_f32(epilogue.activation, to, out_plane, planes.batch * channels, out_plane);
    }
    if (!writes_planes) {
      transpose_f32(channels, out_plane, to, out_plane, output + i * out_plane * output_stride,
                    output_stride);
    }
  }
}

}  // namespace torchlet::kernels
