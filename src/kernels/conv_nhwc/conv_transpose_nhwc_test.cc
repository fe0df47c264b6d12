#include "kernels/conv_nhwc/conv_nhwc.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/conv_nhwc/conv_nhwc_testing.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

void check_transposed(const ConvNhwcShape& s) {
  const Window2dShape& w = s.window;
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const int64_t in_stride = s.in_channels + 1, out_stride = s.out_channels + 2;
  const auto input = random_data(s.batch * w.in_h * w.in_w * in_stride, 1);
  const auto weight = random_data(s.in_channels * out_group * w.kernel_h * w.kernel_w, 2);
  const auto bias = random_data(s.out_channels, 3);
  std::vector<float> expected(static_cast<size_t>(s.batch * w.out_h * w.out_w * out_stride), 1e9f);
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t channel = i % static_cast<size_t>(out_stride);
    if (channel < bias.size()) expected[i] = bias[channel];
  }
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t y = 0; y < w.in_h; ++y)
      for (int64_t x = 0; x < w.in_w; ++x)
        for (int64_t ic = 0; ic < s.in_channels; ++ic)
          for (int64_t oc = 0; oc < out_group; ++oc)
            for (int64_t i = 0; i < w.kernel_h; ++i)
              for (int64_t j = 0; j < w.kernel_w; ++j) {
                const int64_t oy = y * w.stride_h - w.pad_h + i * w.dilation_h;
                const int64_t ox = x * w.stride_w - w.pad_w + j * w.dilation_w;
                if (oy < 0 || oy >= w.out_h || ox < 0 || ox >= w.out_w) continue;
                const int64_t from = ((n * w.in_h + y) * w.in_w + x) * in_stride + ic;
                const int64_t tap = ((ic * out_group + oc) * w.kernel_h + i) * w.kernel_w + j;
                const int64_t to = ((n * w.out_h + oy) * w.out_w + ox) * out_stride +
                                   ic / in_group * out_group + oc;
                expected[static_cast<size_t>(to)] +=
                    input[static_cast<size_t>(from)] * weight[static_cast<size_t>(tap)];
              }
  const size_t packed_bytes = conv_transpose_nhwc_f32_packed_bytes(s);
  std::vector<float> buffer(packed_bytes / sizeof(float) + 16);
  void* packed = buffer.data();
  size_t space = buffer.size() * sizeof(float);
  std::align(64, packed_bytes, packed, space);
  conv_transpose_nhwc_f32_pack(s, weight.data(), packed);
  std::vector<float> output(expected.size(), 1e9f);
  conv_transpose_nhwc_f32(s, input.data(), in_stride, packed,
                          {.bias = bias.data(), .activation = {}}, output.data(), out_stride);
  EXPECT_EQ(output, expected);
}

Window2dShape transposed(int64_t h, int64_t w, int64_t kernel, int64_t stride, int64_t pad,
                         int64_t dilation, int64_t extra) {
  Window2dShape s = make_window(h, w, kernel, kernel, stride, pad, dilation);
  s.out_h = (h - 1) * stride - 2 * pad + dilation * (kernel - 1) + 1 + extra;
  s.out_w = (w - 1) * stride - 2 * pad + dilation * (kernel - 1) + 1 + extra;
  return s;
}

TEST(ConvTransposeNhwc, EveryWindow) {
  for_each_target([] {
    check_transposed(
        {.in_channels = 20, .out_channels = 33, .window = transposed(5, 7, 2, 2, 0, 1, 0)});
    check_transposed({.batch = 2,
                      .in_channels = 3,
                      .out_channels = 17,
                      .window = transposed(4, 19, 4, 2, 1, 1, 0)});
    check_transposed(
        {.in_channels = 300, .out_channels = 8, .window = transposed(4, 4, 3, 2, 1, 1, 1)});
    check_transposed({.in_channels = 8,
                      .out_channels = 12,
                      .groups = 4,
                      .window = transposed(6, 5, 3, 1, 1, 2, 0)});
    check_transposed(
        {.in_channels = 4, .out_channels = 40, .window = transposed(40, 40, 3, 3, 0, 1, 0)});
    // Few channels: with what reaches beyond the borders, gaps, and more lines than one task has.
    check_transposed(
        {.in_channels = 7, .out_channels = 3, .window = transposed(9, 6, 4, 2, 1, 1, 0)});
    check_transposed({.batch = 2,
                      .in_channels = 5,
                      .out_channels = 1,
                      .window = transposed(6, 7, 9, 3, 4, 1, 2)});
    check_transposed(
        {.in_channels = 3, .out_channels = 2, .window = transposed(5, 8, 3, 2, 3, 2, 1)});
    check_transposed(
        {.in_channels = 2, .out_channels = 3, .window = transposed(4, 5, 2, 5, 0, 1, 1)});
    check_transposed(
        {.in_channels = 16, .out_channels = 7, .window = transposed(90, 70, 3, 2, 1, 1, 1)});
  });
}

TEST(ConvTransposeNhwc, Depthwise) {
  for_each_target([] {
    const auto check = [](int64_t batch, int64_t channels, const Window2dShape& window) {
      const ConvNhwcShape shape{batch, channels, channels, channels, window};
      EXPECT_TRUE(conv_transpose_is_depthwise(shape));
      check_transposed(shape);
    };
    for (const int64_t channels : {2, 16, 33}) {
      check(2, channels, transposed(5, 7, 4, 2, 1, 1, 0));
      check(1, channels, transposed(6, 19, 3, 2, 1, 1, 1));
      check(1, channels, transposed(7, 18, 3, 1, 1, 1, 0));
      check(1, channels, transposed(4, 5, 9, 3, 4, 1, 2));
      check(1, channels, transposed(3, 4, 2, 5, 0, 1, 2));  // outputs that see nothing
      check(1, channels, transposed(6, 7, 3, 2, 2, 2, 1));  // taps of every other output
      check(1, channels, transposed(5, 9, 4, 2, 3, 3, 0));  // taps that are apart
      check(1, channels, transposed(4, 3, 2, 4, 3, 6, 1));
      check(1, channels, transposed(9, 8, 2, 2, 6, 1, 1));  // inputs that nothing reads
      check(1, channels, transposed(1, 1, 2, 7, 0, 1, 0));  // fewer outputs than the stride
      check(1, channels, transposed(3, 3, 16, 8, 4, 1, 0));
    }
    check(3, 24, transposed(40, 50, 4, 2, 1, 1, 0));
  });
  ConvNhwcShape shape{1, 4, 4, 4, transposed(2, 2, 3, 65, 0, 1, 0)};
  EXPECT_FALSE(conv_transpose_is_depthwise(shape));
  shape.window = transposed(2, 2, 3, 64, 0, 1, 0);
  EXPECT_TRUE(conv_transpose_is_depthwise(shape));
  shape.out_channels = 8;
  EXPECT_FALSE(conv_transpose_is_depthwise(shape));
}

}  // namespace
}  // namespace torchlet::kernels
