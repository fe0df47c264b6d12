#include "kernels/spatial/pool_nhwc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/conv_nchw/conv_testing.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kUntouched = -77;
constexpr int64_t kNowhere = -77;

struct Images {
  int64_t batch, channels, in_stride, out_stride;
  std::vector<float> input;
};

Images images(int64_t batch, int64_t channels, int64_t pixels) {
  Images result{batch, channels, channels + channels % 3, channels + channels % 2, {}};
  result.input.resize(static_cast<size_t>(batch * pixels * result.in_stride));
  for (size_t i = 0; i < result.input.size(); ++i) {
    result.input[i] = static_cast<float>((i * 7919) % 41) - 20;
  }
  return result;
}

struct Pooled {
  std::vector<float> max, sum;
  std::vector<int64_t> place;           // of the maximum
  std::vector<int64_t> inside, padded;  // pixels under the window: of the input, with padding
};

Pooled naive(const Images& im, const Window2dShape& s) {
  Pooled result;
  const size_t size = static_cast<size_t>(im.batch * s.out_h * s.out_w * im.out_stride);
  result.max.assign(size, kUntouched);
  result.sum = result.max;
  result.place.assign(size, kNowhere);
  result.inside.assign(size, 0);
  result.padded = result.inside;
  for (int64_t n = 0; n < im.batch; ++n) {
    for (int64_t oy = 0; oy < s.out_h; ++oy) {
      for (int64_t ox = 0; ox < s.out_w; ++ox) {
        for (int64_t c = 0; c < im.channels; ++c) {
          float max = -kInf, sum = 0;
          int64_t inside = 0, padded = 0, place = 0;
          for (int64_t i = 0; i < s.kernel_h; ++i) {
            for (int64_t j = 0; j < s.kernel_w; ++j) {
              const int64_t iy = oy * s.stride_h - s.pad_h + i * s.dilation_h;
              const int64_t ix = ox * s.stride_w - s.pad_w + j * s.dilation_w;
              padded += iy < s.in_h + s.pad_h && ix < s.in_w + s.pad_w;
              if (iy < 0 || iy >= s.in_h || ix < 0 || ix >= s.in_w) continue;
              const float v = im.input[static_cast<size_t>(
                  ((n * s.in_h + iy) * s.in_w + ix) * im.in_stride + c)];
              if (inside == 0 || std::isnan(v) || v > max) place = iy * s.in_w + ix;
              max = std::isnan(v) || v > max ? v : max;
              sum += v;
              ++inside;
            }
          }
          const size_t at =
              static_cast<size_t>(((n * s.out_h + oy) * s.out_w + ox) * im.out_stride + c);
          result.max[at] = max;
          result.place[at] = place;
          result.sum[at] = sum;
          result.inside[at] = inside;
          result.padded[at] = padded;
        }
      }
    }
  }
  return result;
}

void check(int64_t channels, const Window2dShape& s) {
  SCOPED_TRACE(testing::Message() << channels << " channels " << s.in_h << "x" << s.in_w
                                  << " kernel " << s.kernel_h << " stride " << s.stride_h << " pad "
                                  << s.pad_h << " dilation " << s.dilation_h);
  const Images im = images(2, channels, s.in_h * s.in_w);
  const Pooled expected = naive(im, s);
  const PoolShape shape{im.batch, channels, s};
  std::vector<float> out(expected.max.size(), kUntouched);
  max_pool_nhwc(shape, im.input.data(), im.in_stride, out.data(), im.out_stride);
  ASSERT_EQ(out, expected.max);
  std::vector<int64_t> places(out.size(), kNowhere);
  max_pool_places_nhwc(shape, im.input.data(), im.in_stride, places.data(), im.out_stride);
  ASSERT_EQ(places, expected.place);
  if (s.dilation_h != 1) return;
  for (const int64_t divisor : {0, 3}) {
    for (const bool count_include_pad : {false, true}) {
      avg_pool_nhwc(shape, count_include_pad, divisor, im.input.data(), im.in_stride, out.data(),
                    im.out_stride);
      for (size_t i = 0; i < out.size(); ++i) {
        if (static_cast<int64_t>(i) % im.out_stride >= channels) continue;
        const int64_t count = divisor             ? divisor
                              : count_include_pad ? expected.padded[i]
                                                  : std::max<int64_t>(1, expected.inside[i]);
        ASSERT_FLOAT_EQ(out[i], expected.sum[i] / static_cast<float>(count)) << i;
      }
    }
  }
}

TEST(PoolNhwc, WindowsStridesPaddingsDilationsAndCeilMode) {
  for_each_target([] {
    for (int64_t channels : {1, 3, 15, 16, 17, 24, 70, 96}) {
      for (int64_t kernel : {1, 2, 3}) {
        for (int64_t stride : {1, 2}) {
          for (int64_t dilation : {1, 2}) {
            for (int64_t ceil : {0, 1}) {
              const int64_t pad = kernel / 2;
              Window2dShape s = make_window(6, 9, kernel, kernel, stride, pad, dilation);
              s.out_h += ceil;
              // In ceil mode PyTorch drops a window that begins below the padded picture.
              if (ceil && (s.out_h - 1) * stride >= s.in_h + pad) --s.out_h;
              check(channels, s);
            }
          }
        }
      }
    }
  });
}

// Windows of one column are pooled as rows if pixels have no gaps; with gaps, pixel by pixel.
TEST(PoolNhwc, WindowsOfOneColumn) {
  for_each_target([] {
    for (const int64_t channels : {1, 5}) {
      Window2dShape s = make_window(7, 9, 3, 1, 2, 0);
      s.pad_h = 1;
      s.stride_w = 1;
      s.out_h = 4;
      s.out_w = 9;
      check(channels, s);
      const Images im = images(2, channels, s.in_h * s.in_w);
      const PoolShape shape{im.batch, channels, s};
      const int64_t pixels = im.batch * s.in_h * s.in_w, outs = im.batch * s.out_h * s.out_w;
      std::vector<float> dense(static_cast<size_t>(pixels * channels));
      for (int64_t i = 0; i < pixels * channels; ++i) {
        dense[static_cast<size_t>(i)] =
            im.input[static_cast<size_t>(i / channels * im.in_stride + i % channels)];
      }
      std::vector<float> gaps(static_cast<size_t>(outs * im.out_stride));
      std::vector<float> out(static_cast<size_t>(outs * channels));
      max_pool_nhwc(shape, im.input.data(), im.in_stride, gaps.data(), im.out_stride);
      max_pool_nhwc(shape, dense.data(), channels, out.data(), channels);
      for (int64_t i = 0; i < outs * channels; ++i) {
        const auto at = static_cast<size_t>(i / channels * im.out_stride + i % channels);
        ASSERT_EQ(out[static_cast<size_t>(i)], gaps[at]) << i;
      }
      avg_pool_nhwc(shape, true, 0, im.input.data(), im.in_stride, gaps.data(), im.out_stride);
      avg_pool_nhwc(shape, true, 0, dense.data(), channels, out.data(), channels);
      for (int64_t i = 0; i < outs * channels; ++i) {
        const auto at = static_cast<size_t>(i / channels * im.out_stride + i % channels);
        ASSERT_EQ(out[static_cast<size_t>(i)], gaps[at]) << i;
      }
    }
  });
}

TEST(PoolNhwc, NaNIsTheMaximum) {
  for_each_target([] {
    const PoolShape shape{
        1, 2, {.in_h = 1, .in_w = 3, .out_h = 1, .out_w = 1, .kernel_h = 1, .kernel_w = 3}};
    const std::vector<float> input{1, kInf, NAN, -kInf, 3, 2};
    std::vector<float> out(2);
    max_pool_nhwc(shape, input.data(), 2, out.data(), 2);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], kInf);
    std::vector<int64_t> places(2);
    max_pool_places_nhwc(shape, input.data(), 2, places.data(), 2);
    EXPECT_EQ(places, (std::vector<int64_t>{1, 0}));
  });
}

TEST(PoolNhwc, MaximaGoBackToTheirPlaces) {
  const UnpoolShape shape{2, 2, 2, 3};
  const std::vector<float> input{1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8, 0};
  std::vector<int64_t> places{0, 2, 2, 1, 1, 0, 0, 2};
  std::vector<float> out(12, kUntouched);
  EXPECT_EQ(max_unpool_nhwc(shape, input.data(), 3, places.data(), 2, out.data(), 2), nullptr);
  EXPECT_EQ(out, (std::vector<float>{1, 0, 0, 4, 3, 2, 7, 6, 5, 0, 0, 8}));
  for (const int64_t outside : {int64_t{-1}, int64_t{3}, std::numeric_limits<int64_t>::max()}) {
    places[5] = outside;
    EXPECT_EQ(max_unpool_nhwc(shape, input.data(), 3, places.data(), 2, out.data(), 2), &places[5]);
  }
}

// Output (y, x) covers rows [floor(y h / oh), ceil((y + 1) h / oh)).
TEST(PoolNhwc, AdaptiveWindows) {
  for_each_target([] {
    for (int64_t channels : {3, 16, 40}) {
      const AdaptivePoolShape shape{
          .batch = 2, .channels = channels, .in_h = 7, .in_w = 5, .out_h = 3, .out_w = 6};
      const Images im = images(2, channels, 35);
      std::vector<float> mean(static_cast<size_t>(2 * 18 * im.out_stride), kUntouched), max = mean;
      adaptive_avg_pool_nhwc(shape, im.input.data(), im.in_stride, mean.data(), im.out_stride);
      adaptive_max_pool_nhwc(shape, im.input.data(), im.in_stride, max.data(), im.out_stride);
      for (int64_t n = 0; n < 2; ++n) {
        for (int64_t oy = 0; oy < 3; ++oy) {
          for (int64_t ox = 0; ox < 6; ++ox) {
            const int64_t y0 = oy * 7 / 3, y1 = (oy * 7 + 7 + 2) / 3;
            const int64_t x0 = ox * 5 / 6, x1 = (ox * 5 + 5 + 5) / 6;
            for (int64_t c = 0; c < channels; ++c) {
              float sum = 0, most = -kInf;
              for (int64_t y = y0; y < y1; ++y) {
                for (int64_t x = x0; x < x1; ++x) {
                  const float v =
                      im.input[static_cast<size_t>(((n * 7 + y) * 5 + x) * im.in_stride + c)];
                  sum += v;
                  most = std::max(most, v);
                }
              }
              const size_t at = static_cast<size_t>(((n * 3 + oy) * 6 + ox) * im.out_stride + c);
              ASSERT_FLOAT_EQ(mean[at], sum / static_cast<float>((y1 - y0) * (x1 - x0)));
              ASSERT_EQ(max[at], most);
            }
          }
        }
      }
    }
  });
}

TEST(PoolNhwc, GlobalMean) {
  for_each_target([] {
    for (int64_t channels : {1, 17, 64, 320}) {
      const Images im = images(2, channels, 49);
      std::vector<float> out(static_cast<size_t>(2 * im.out_stride), kUntouched);
      global_avg_pool_nhwc(2, 49, channels, im.input.data(), im.in_stride, out.data(),
                           im.out_stride);
      for (int64_t n = 0; n < 2; ++n) {
        for (int64_t c = 0; c < im.out_stride; ++c) {
          float sum = 0;
          for (int64_t p = 0; p < 49 && c < channels; ++p) {
            sum += im.input[static_cast<size_t>((n * 49 + p) * im.in_stride + c)];
          }
          const float value = out[static_cast<size_t>(n * im.out_stride + c)];
          ASSERT_LE(ulps(value, c < channels ? sum / 49 : kUntouched), kQuotientUlps);
        }
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
