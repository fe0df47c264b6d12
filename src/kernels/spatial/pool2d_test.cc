#include "kernels/spatial/pool2d.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/simd/target_test.h"
#include "kernels/spatial/window_size.h"

namespace torchlet::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Pooled {
  std::vector<float> max, sum;
  std::vector<int64_t> inside,
      padded;  // pixels of the input, and of the padded input, under the window
};

Pooled naive(const Window2dShape& s, const std::vector<float>& x, int64_t planes) {
  Pooled result;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t oy = 0; oy < s.out_h; ++oy) {
      for (int64_t ox = 0; ox < s.out_w; ++ox) {
        float max = -kInf, sum = 0;
        int64_t inside = 0, padded = 0;
        for (int64_t i = 0; i < s.kernel_h; ++i) {
          for (int64_t j = 0; j < s.kernel_w; ++j) {
            const int64_t iy = oy * s.stride_h - s.pad_h + i * s.dilation_h;
            const int64_t ix = ox * s.stride_w - s.pad_w + j * s.dilation_w;
            padded += iy < s.in_h + s.pad_h && ix < s.in_w + s.pad_w;
            if (iy < 0 || iy >= s.in_h || ix < 0 || ix >= s.in_w) continue;
            const float v = x[static_cast<size_t>((plane * s.in_h + iy) * s.in_w + ix)];
            max = std::isnan(v) || v > max ? v : max;
            sum += v;
            ++inside;
          }
        }
        result.max.push_back(max);
        result.sum.push_back(sum);
        result.inside.push_back(inside);
        result.padded.push_back(padded);
      }
    }
  }
  return result;
}

void check(const Window2dShape& s) {
  SCOPED_TRACE(testing::Message() << s.in_h << "x" << s.in_w << " kernel " << s.kernel_h << "x"
                                  << s.kernel_w << " stride " << s.stride_h << " pad " << s.pad_h
                                  << " dilation " << s.dilation_h);
  const int64_t planes = 3;
  std::vector<float> x(static_cast<size_t>(planes * s.in_h * s.in_w));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7919) % 41) - 20;
  const Pooled expected = naive(s, x, planes);
  std::vector<float> y(expected.max.size());
  max_pool2d_f32(s, x.data(), y.data(), planes);
  ASSERT_EQ(y, expected.max);
  if (s.dilation_h != 1 || s.dilation_w != 1) return;
  for (const int64_t divisor : {0, 3}) {
    for (const bool count_include_pad : {false, true}) {
      avg_pool2d_f32(s, count_include_pad, divisor, x.data(), y.data(), planes);
      for (size_t i = 0; i < y.size(); ++i) {
        const int64_t count = divisor             ? divisor
                              : count_include_pad ? expected.padded[i]
                                                  : std::max<int64_t>(1, expected.inside[i]);
        ASSERT_LE(ulps(y[i], expected.sum[i] / static_cast<float>(count)), kQuotientUlps) << i;
      }
    }
  }
}

TEST(Pool2d, WindowsStridesPaddingsAndDilations) {
  for_each_target([] {
    for (int64_t kernel : {1, 2, 3, 5}) {
      for (int64_t stride : {1, 2, 3}) {
        for (int64_t size : {5, 8, 17, 40}) {
          for (int64_t dilation : {1, 2}) {
            const int64_t pad = kernel / 2;
            Window2dShape s{.in_h = size,
                            .in_w = size + 1,
                            .out_h = sliding_output_size(size, kernel, stride, pad, dilation),
                            .out_w = sliding_output_size(size + 1, 3, stride, 1, dilation),
                            .kernel_h = kernel,
                            .kernel_w = 3,
                            .stride_h = stride,
                            .stride_w = stride,
                            .pad_h = pad,
                            .pad_w = 1,
                            .dilation_h = dilation,
                            .dilation_w = dilation};
            if (s.out_h < 1 || s.out_w < 1) continue;
            check(s);
          }
        }
      }
    }
  });
}

TEST(Pool2d, CeilModeWindowsHangOverTheEdge) {
  for_each_target([] {
    check({.in_h = 6,
           .in_w = 6,
           .out_h = 3,
           .out_w = 3,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = 2,
           .stride_w = 2});
    check({.in_h = 7,
           .in_w = 8,
           .out_h = 4,
           .out_w = 5,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = 2,
           .stride_w = 2,
           .pad_h = 1,
           .pad_w = 1});
  });
}

TEST(Pool2d, PlaneLargerThanOneStrip) {
  for_each_target([] {
    check({.in_h = 400,
           .in_w = 150,
           .out_h = 200,
           .out_w = 75,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = 2,
           .stride_w = 2,
           .pad_h = 1,
           .pad_w = 1});
  });
}

TEST(Pool2d, MaxKeepsNaN) {
  for_each_target([] {
    const float x[] = {1, NAN, 3, 4, 5, 6, 7, 8, 9};
    float y[4];
    max_pool2d_f32({.in_h = 3, .in_w = 3, .out_h = 2, .out_w = 2, .kernel_h = 2, .kernel_w = 2}, x,
                   y, 1);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_EQ(y[2], 8);
    EXPECT_EQ(y[3], 9);
  });
}

}  // namespace
}  // namespace torchlet::kernels
