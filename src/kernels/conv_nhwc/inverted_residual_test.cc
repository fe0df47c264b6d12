#include "kernels/conv_nhwc/inverted_residual.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/conv_nhwc/dwconv_nhwc.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/target_test.h"
#include "kernels/spatial/window_size.h"

namespace torchlet::kernels {
namespace {

std::vector<float> numbers(int64_t count, int seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<size_t>(seed)) % 7) - 3;
  }
  return values;
}

ConvNhwcShape pointwise(int64_t in, int64_t out, int64_t pixels) {
  return {
      .batch = 1,
      .in_channels = in,
      .out_channels = out,
      .window = {
          .in_h = 1, .in_w = pixels, .out_h = 1, .out_w = pixels, .kernel_h = 1, .kernel_w = 1}};
}

// The block equals its kernels one after the other. Whole numbers make every sum exact.
void check(const InvertedResidualShape& shape, bool expand, bool project = true) {
  SCOPED_TRACE(testing::Message() << shape.window.in_h << "x" << shape.window.in_w << " stride "
                                  << shape.window.stride_h << " hidden " << shape.hidden_channels);
  const Window2dShape& s = shape.window;
  const int64_t in_pixels = shape.batch * s.in_h * s.in_w;
  const int64_t out_pixels = shape.batch * s.out_h * s.out_w;
  const int64_t in_stride = shape.in_channels + 3, out_stride = shape.out_channels + 2;
  const int64_t hidden = shape.hidden_channels;
  const auto input = numbers(in_pixels * in_stride, 1);
  const auto residual = numbers(out_pixels * out_stride, 2);
  const auto bias = numbers(std::max(hidden, shape.out_channels), 3);
  const auto depthwise_weight = numbers(hidden * s.kernel_h * s.kernel_w, 4);
  const DwConvShape dw{shape.batch, hidden, s};
  const ScratchBytes depthwise(dwconv_nhwc_f32_packed_bytes(dw));
  dwconv_nhwc_f32_pack(dw, depthwise_weight.data(), depthwise.data());
  const auto expand_shape = pointwise(shape.in_channels, hidden, in_pixels);
  const auto project_shape = pointwise(hidden, shape.out_channels, out_pixels);
  const ScratchBytes expand_weight(conv_nhwc_f32_packed_bytes(expand_shape));
  const ScratchBytes project_weight(conv_nhwc_f32_packed_bytes(project_shape));
  conv_nhwc_f32_pack(expand_shape, numbers(shape.in_channels * hidden, 5).data(),
                     expand_weight.data());
  conv_nhwc_f32_pack(project_shape, numbers(hidden * shape.out_channels, 6).data(),
                     project_weight.data());

  const Activation relu6{ActivationKind::kClamp, 0, 6};
  InvertedResidual<float> layers{.expand_epilogue = {.bias = bias.data(), .activation = relu6},
                                 .depthwise = depthwise.data(),
                                 .depthwise_epilogue = {.bias = bias.data(), .activation = relu6},
                                 .project = project ? project_weight.data() : nullptr,
                                 .project_epilogue = {.bias = bias.data(),
                                                      .residual = residual.data(),
                                                      .residual_stride = out_stride,
                                                      .activation = {}}};
  if (expand) layers.expand = expand_weight.data();

  std::vector<float> wide(static_cast<size_t>(in_pixels * hidden)),
      narrow(static_cast<size_t>(out_pixels * hidden)), expected(residual.size(), -77);
  if (expand) {
    conv_nhwc_f32(expand_shape, input.data(), in_stride, layers.expand, layers.expand_epilogue,
                  wide.data(), hidden);
  }
  dwconv_nhwc_f32(dw, expand ? wide.data() : input.data(), expand ? hidden : in_stride,
                  layers.depthwise, layers.depthwise_epilogue,
                  project ? narrow.data() : expected.data(), project ? hidden : out_stride);
  if (project) {
    conv_nhwc_f32(project_shape, narrow.data(), hidden, layers.project, layers.project_epilogue,
                  expected.data(), out_stride);
  }
  std::vector<float> out(expected.size(), -77);
  inverted_residual(shape, input.data(), in_stride, layers, out.data(), out_stride);
  ASSERT_EQ(out, expected);
}

Window2dShape window(int64_t h, int64_t w, int64_t kernel, int64_t stride) {
  return {.in_h = h,
          .in_w = w,
          .out_h = sliding_output_size(h, kernel, stride, kernel / 2, 1),
          .out_w = sliding_output_size(w, kernel, stride, kernel / 2, 1),
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .pad_h = kernel / 2,
          .pad_w = kernel / 2};
}

TEST(InvertedResidual, IsItsThreeConvolutions) {
  for_each_target([] {
    check({2, 16, 96, 24, window(13, 15, 3, 2)}, true);
    check({1, 24, 144, 24, window(9, 9, 3, 1)}, true);
    check({2, 5, 17, 3, window(8, 7, 5, 1)}, true);
    check({1, 32, 32, 16, window(10, 11, 3, 1)}, false);
  });
}

TEST(InvertedResidual, MayEndWithItsDepthwiseConvolution) {
  for_each_target([] {
    check({2, 16, 96, 96, window(13, 15, 3, 2)}, true, false);
    check({1, 5, 17, 17, window(8, 7, 5, 1)}, true, false);
  });
  check({1, 8, 160, 160, window(70, 60, 3, 1)}, true, false);
}

TEST(InvertedResidual, StripsOfManyRows) {
  for (int64_t stride : {1, 2}) {
    check({1, 8, 160, 16, window(70, 60, 3, stride)}, true);
    check({1, 8, 100, 16, window(40, 61, 5, stride)}, true);
    check({1, 96, 96, 16, window(60, 50, 3, stride)}, false);
  }
}

TEST(InvertedResidual, PaysWhereTheHiddenImageLeavesTheCache) {
  const int64_t before = cached(int64_t{1} << 20);
  const InvertedResidualShape shape{1, 24, 160, 24, window(32, 32, 3, 1)};  // 640 KB
  set_cache(int64_t{1} << 20);
  EXPECT_FALSE(inverted_residual_pays(shape, sizeof(float)));
  set_cache(int64_t{512} << 10);
  EXPECT_TRUE(inverted_residual_pays(shape, sizeof(float)));
  check(shape, true);
  set_cache(before);
}

}  // namespace
}  // namespace torchlet::kernels
