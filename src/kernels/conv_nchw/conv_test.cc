#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/conv_nchw/conv2d.h"
#include "kernels/conv_nchw/conv_testing.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

// All sizes of a convolution over depth, height and width, and the definition itself. visit(out,
// in, weight) is called with every triple of indices that belong together.
template <typename Visit>
void visit_taps(const Conv3dShape& s, const Visit& visit) {
  const Window2dShape& w = s.planes.window;
  const int64_t in_group = s.planes.in_channels / s.planes.groups;
  const int64_t out_group = s.planes.out_channels / s.planes.groups;
  int64_t out = 0;
  for (int64_t n = 0; n < s.planes.batch; ++n)
    for (int64_t oc = 0; oc < s.planes.out_channels; ++oc)
      for (int64_t od = 0; od < s.out_d; ++od)
        for (int64_t oy = 0; oy < w.out_h; ++oy)
          for (int64_t ox = 0; ox < w.out_w; ++ox, ++out)
            for (int64_t ic = 0; ic < in_group; ++ic)
              for (int64_t kd = 0; kd < s.kernel_d; ++kd)
                for (int64_t i = 0; i < w.kernel_h; ++i)
                  for (int64_t j = 0; j < w.kernel_w; ++j) {
                    const int64_t d = od * s.stride_d - s.pad_d + kd * s.dilation_d;
                    const int64_t y = oy * w.stride_h - w.pad_h + i * w.dilation_h;
                    const int64_t x = ox * w.stride_w - w.pad_w + j * w.dilation_w;
                    if (d < 0 || d >= s.in_d || y < 0 || y >= w.in_h || x < 0 || x >= w.in_w)
                      continue;
                    const int64_t channel =
                        n * s.planes.in_channels + oc / out_group * in_group + ic;
                    const int64_t in = ((channel * s.in_d + d) * w.in_h + y) * w.in_w + x;
                    const int64_t tap = (kd * w.kernel_h + i) * w.kernel_w + j;
                    const int64_t taps = s.kernel_d * w.kernel_h * w.kernel_w;
                    visit(out, in, (oc * in_group + ic) * taps + tap, oc);
                  }
}

int64_t in_size(const Conv3dShape& s) {
  return s.planes.batch * s.planes.in_channels * s.in_d * s.planes.window.in_h *
         s.planes.window.in_w;
}
int64_t out_size(const Conv3dShape& s) {
  return s.planes.batch * s.planes.out_channels * s.out_d * s.planes.window.out_h *
         s.planes.window.out_w;
}
int64_t weight_size(const Conv3dShape& s) {
  return s.planes.out_channels * s.planes.in_channels / s.planes.groups * s.kernel_d *
         s.planes.window.kernel_h * s.planes.window.kernel_w;
}

std::vector<float> naive(const Conv3dShape& s, const std::vector<float>& in,
                         const std::vector<float>& weight, const float* bias, float min,
                         float max) {
  std::vector<float> out(static_cast<size_t>(out_size(s)));
  const size_t plane = out.size() / static_cast<size_t>(s.planes.batch * s.planes.out_channels);
  if (bias) {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = bias[i / plane % static_cast<size_t>(s.planes.out_channels)];
    }
  }
  visit_taps(s, [&](int64_t o, int64_t i, int64_t w, int64_t) {
    out[static_cast<size_t>(o)] += in[static_cast<size_t>(i)] * weight[static_cast<size_t>(w)];
  });
  for (float& x : out) x = std::clamp(x, min, max);
  return out;
}

void check_conv2d(const Conv2dShape& shape, bool with_bias = true) {
  const Window2dShape& w = shape.window;
  SCOPED_TRACE(testing::Message() << "batch " << shape.batch << " channels " << shape.in_channels
                                  << " -> " << shape.out_channels << " groups " << shape.groups
                                  << " in " << w.in_h << "x" << w.in_w << " out " << w.out_h << "x"
                                  << w.out_w << " kernel " << w.kernel_h << "x" << w.kernel_w
                                  << " stride " << w.stride_h << "x" << w.stride_w << " pad "
                                  << w.pad_h << "x" << w.pad_w << " dilation " << w.dilation_h
                                  << "x" << w.dilation_w);
  const Conv3dShape s{.planes = shape, .in_d = 1, .out_d = 1, .kernel_d = 1};
  const auto in = random_data(in_size(s), 1), weight = random_data(weight_size(s), 2);
  const auto bias_data = random_data(shape.out_channels, 3);
  const float* bias = with_bias ? bias_data.data() : nullptr;
  const auto expected = naive(s, in, weight, bias, -20, 30);
  std::vector<float> out(expected.size() + 1, 777);
  conv2d_f32(shape, in.data(), weight.data(), bias, out.data(), -20, 30);
  EXPECT_EQ(out.back(), 777);
  out.pop_back();
  ASSERT_EQ(out, expected);
}

TEST(Conv2d, Pointwise) {
  for_each_target([] {
    for (int64_t size : {1, 2, 5, 7, 14}) {
      check_conv2d({.batch = 2,
                    .in_channels = 5,
                    .out_channels = 9,
                    .window = make_window(size, size, 1, 1)});
      check_conv2d({.in_channels = 40, .out_channels = 50, .window = make_window(size, 9, 1, 1)},
                   false);
      check_conv2d(
          {.in_channels = 6, .out_channels = 4, .window = make_window(size, size, 1, 1, 2)});
      check_conv2d(
          {.in_channels = 3, .out_channels = 4, .window = make_window(size, size, 1, 1, 1, 1)});
    }
  });
}

TEST(Conv2d, WindowsStridesPaddingsAndDilations) {
  for_each_target([] {
    for (int64_t kernel : {2, 3, 5}) {
      for (int64_t stride : {1, 2, 3}) {
        for (int64_t pad : {0, 1, 2}) {
          for (int64_t dilation : {1, 2}) {
            for (int64_t size : {9, 16, 37}) {
              check_conv2d(
                  {.in_channels = 3,
                   .out_channels = 5,
                   .window = make_window(size, size + 1, kernel, 3, stride, pad, dilation)});
            }
          }
        }
      }
    }
  });
}

TEST(Conv2d, GroupsBatchesAndDeepProducts) {
  for_each_target([] {
    check_conv2d({.batch = 3,
                  .in_channels = 6,
                  .out_channels = 4,
                  .groups = 2,
                  .window = make_window(7, 7, 3, 3, 1, 1)});
    check_conv2d({.batch = 2,
                  .in_channels = 4,
                  .out_channels = 12,
                  .groups = 2,
                  .window = make_window(5, 6, 1, 1)});
    check_conv2d({.in_channels = 70, .out_channels = 33, .window = make_window(7, 7, 3, 3, 1, 1)});
    check_conv2d({.in_channels = 3, .out_channels = 8, .window = make_window(64, 67, 7, 7, 2, 3)});
    check_conv2d({.in_channels = 2, .out_channels = 3, .window = make_window(1, 300, 1, 25, 1, 0)});
  });
}

TEST(Conv2d, UnevenPaddingStrideAndDilation) {
  // As "same" padding of TensorFlow models, and whatever else a shape can say.
  const Window2dShape w{.in_h = 11,
                        .in_w = 20,
                        .out_h = 6,
                        .out_w = 9,
                        .kernel_h = 3,
                        .kernel_w = 4,
                        .stride_h = 2,
                        .stride_w = 3,
                        .pad_h = 0,
                        .pad_w = 4,
                        .dilation_h = 2,
                        .dilation_w = 3};
  for_each_target([&] {
    check_conv2d({.in_channels = 3, .out_channels = 5, .window = w});
    check_conv2d({.in_channels = 3, .out_channels = 3, .groups = 3, .window = w});
  });
}

TEST(Conv2d, Depthwise) {
  for_each_target([] {
    for (int64_t kernel : {1, 2, 3, 5, 7}) {
      for (int64_t stride : {1, 2, 3}) {
        for (int64_t size : {7, 8, 14, 19, 33, 50}) {
          const int64_t pad = size % 3;
          for (int64_t dilation : {1, 2}) {
            const Window2dShape w =
                make_window(size, size + 2, kernel, kernel, stride, pad, dilation);
            if (w.out_h < 1 || w.out_w < 1) continue;
            check_conv2d(
                {.batch = 2, .in_channels = 3, .out_channels = 3, .groups = 3, .window = w});
            check_conv2d({.in_channels = 2, .out_channels = 6, .groups = 2, .window = w}, false);
          }
        }
      }
    }
  });
}

TEST(Conv2d, DepthwisePlaneLargerThanOneStrip) {
  for_each_target([] {
    for (int64_t stride : {1, 2}) {
      check_conv2d({.in_channels = 2,
                    .out_channels = 2,
                    .groups = 2,
                    .window = make_window(301, 290, 3, 3, stride, 1)});
    }
  });
}

TEST(Conv2d, ThreadsDoNotChangeTheResult) {
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    check_conv2d(
        {.in_channels = 40, .out_channels = 65, .window = make_window(28, 28, 3, 3, 1, 1)});
    check_conv2d({.in_channels = 80,
                  .out_channels = 80,
                  .groups = 80,
                  .window = make_window(56, 56, 3, 3, 2, 1)});
    check_conv2d({.in_channels = 200, .out_channels = 320, .window = make_window(7, 7, 1, 1)});
  }
  set_num_threads(0);
}

TEST(ConvTranspose2d, IsTheGradientOfConv2d) {
  const Conv2dShape shapes[] = {
      {.in_channels = 3, .out_channels = 4, .window = make_window(9, 11, 3, 3, 2, 1)},
      {.batch = 2,
       .in_channels = 4,
       .out_channels = 6,
       .groups = 2,
       .window = make_window(8, 7, 2, 2, 2)},
      {.in_channels = 5, .out_channels = 5, .groups = 5, .window = make_window(16, 18, 4, 4, 2, 1)},
      {.in_channels = 17, .out_channels = 9, .window = make_window(12, 12, 3, 3, 1, 0, 2)},
      {.in_channels = 2,
       .out_channels = 2,
       .window = make_window(10, 10, 3, 3, 4, 1)},  // with gaps
  };
  for (const Conv2dShape& shape : shapes) {
    for (const bool with_bias : {false, true}) {
      // The forward convolution goes the other way round: from this one's output to its input.
      Conv3dShape forward{.planes = shape, .in_d = 1, .out_d = 1, .kernel_d = 1};
      std::swap(forward.planes.in_channels, forward.planes.out_channels);
      const auto in = random_data(out_size(forward), 1),
                 weight = random_data(weight_size(forward), 2);
      const auto bias = random_data(shape.out_channels, 3);
      std::vector<float> expected(static_cast<size_t>(in_size(forward)));
      const size_t plane = static_cast<size_t>(shape.window.in_h * shape.window.in_w);
      for (size_t i = 0; with_bias && i < expected.size(); ++i) {
        expected[i] = bias[i / plane % bias.size()];
      }
      visit_taps(forward, [&](int64_t o, int64_t i, int64_t w, int64_t) {
        expected[static_cast<size_t>(i)] +=
            in[static_cast<size_t>(o)] * weight[static_cast<size_t>(w)];
      });
      std::vector<float> out(expected.size(), 777);
      conv_transpose2d_f32(shape, in.data(), weight.data(), with_bias ? bias.data() : nullptr,
                           out.data());
      ASSERT_EQ(out, expected);
    }
  }
}

TEST(Conv3d, MatchesTheDefinition) {
  for_each_target([] {
    for (int64_t stride : {1, 2}) {
      for (int64_t pad : {0, 1}) {
        for (int64_t dilation : {1, 2}) {
          Conv3dShape s{.planes = {.batch = 2,
                                   .in_channels = 4,
                                   .out_channels = 6,
                                   .groups = 2,
                                   .window = make_window(8, 10, 3, 2, stride, pad, dilation)},
                        .in_d = 6,
                        .out_d = sliding_output_size(6, 3, stride, pad, dilation),
                        .kernel_d = 3,
                        .stride_d = stride,
                        .pad_d = pad,
                        .dilation_d = dilation};
          const auto in = random_data(in_size(s), 1), weight = random_data(weight_size(s), 2);
          const auto bias = random_data(s.planes.out_channels, 3);
          const auto expected = naive(s, in, weight, bias.data(), -INFINITY, INFINITY);
          std::vector<float> out(expected.size());
          conv3d_f32(s, in.data(), weight.data(), bias.data(), out.data());
          ASSERT_EQ(out, expected);
        }
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
