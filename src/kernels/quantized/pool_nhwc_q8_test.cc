#include "kernels/quantized/pool_nhwc_q8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/simd/target_test.h"
#include "kernels/spatial/window_size.h"

namespace torchlet::kernels {
namespace {

void check(int64_t channels, int64_t size, int64_t kernel, int64_t stride, int64_t pad,
           int64_t dilation, bool is_longer) {
  SCOPED_TRACE(testing::Message() << channels << " channels, " << size << " kernel " << kernel
                                  << " stride " << stride << " pad " << pad);
  Window2dShape w{size,   size + 3, 0,   0,   kernel,   kernel,
                  stride, stride,   pad, pad, dilation, dilation};
  // As with ceil_mode, which adds windows that begin in the input.
  w.out_h = sliding_output_size(w.in_h, kernel, stride, pad, dilation) + is_longer;
  w.out_w = sliding_output_size(w.in_w, kernel, stride, pad, dilation) + is_longer;
  const PoolShape shape{2, channels, w};
  const int64_t in_stride = channels + 2, out_stride = channels + 1;
  std::vector<uint8_t> x(static_cast<size_t>(2 * w.in_h * w.in_w * in_stride - 2));
  std::mt19937 engine(1);
  for (uint8_t& v : x) v = static_cast<uint8_t>(engine());
  std::vector<uint8_t> y(static_cast<size_t>(2 * w.out_h * w.out_w * out_stride), 9), expected = y;
  for (int64_t i = 0; i < 2 * w.out_h * w.out_w * channels; ++i) {
    const int64_t c = i % channels, pixel = i / channels;
    const int64_t first_x = pixel % w.out_w * stride - pad;
    const int64_t first_y = pixel / w.out_w % w.out_h * stride - pad;
    uint8_t most = 0;
    for (int64_t tap = 0; tap < kernel * kernel; ++tap) {
      const int64_t in_y = first_y + tap / kernel * dilation;
      const int64_t in_x = first_x + tap % kernel * dilation;
      if (in_y < 0 || in_y >= w.in_h || in_x < 0 || in_x >= w.in_w) continue;
      const int64_t line = pixel / w.out_w / w.out_h * w.in_h + in_y;
      most = std::max(most, x[static_cast<size_t>((line * w.in_w + in_x) * in_stride + c)]);
    }
    expected[static_cast<size_t>(pixel * out_stride + c)] = most;
  }
  max_pool_nhwc_q8(shape, x.data(), in_stride, y.data(), out_stride);
  ASSERT_EQ(y, expected);
}

TEST(PoolNhwcQ8, Max) {
  for_each_target([] {
    for (int64_t channels : {1, 15, 16, 17, 64, 65, 130}) {
      check(channels, 8, 2, 2, 0, 1, false);
      check(channels, 9, 3, 2, 1, 1, false);
      check(channels, 9, 3, 2, 1, 1, true);
      check(channels, 10, 3, 1, 1, 2, false);
      check(channels, 5, 5, 3, 2, 1, false);
    }
  });
}

void check_average(int64_t channels, int64_t kernel, int64_t stride, const AffineQ8& q) {
  SCOPED_TRACE(testing::Message() << channels << " channels, kernel " << kernel);
  Window2dShape w{kernel + 3, kernel + 4, 0, 0, kernel, kernel + 1, stride, stride};
  w.out_h = sliding_output_size(w.in_h, w.kernel_h, stride, 0, 1);
  w.out_w = sliding_output_size(w.in_w, w.kernel_w, stride, 0, 1);
  const PoolShape shape{2, channels, w};
  std::vector<uint8_t> x(static_cast<size_t>(2 * w.in_h * w.in_w * channels));
  std::mt19937 engine(1);
  for (uint8_t& v : x) v = static_cast<uint8_t>(engine() % 7);  // with ties
  const int64_t out_stride = channels + 1;
  std::vector<uint8_t> y(static_cast<size_t>(2 * w.out_h * w.out_w * out_stride), 9), expected = y;
  const int64_t size = w.kernel_h * w.kernel_w;
  for (int64_t i = 0; i < 2 * w.out_h * w.out_w * channels; ++i) {
    const int64_t c = i % channels, pixel = i / channels;
    int64_t sum = -q.zero_point * size;
    for (int64_t tap = 0; tap < size; ++tap) {
      const int64_t in_y = pixel / w.out_w % w.out_h * stride + tap / w.kernel_w;
      const int64_t in_x = pixel % w.out_w * stride + tap % w.kernel_w;
      const int64_t line = pixel / w.out_w / w.out_h * w.in_h + in_y;
      sum += x[static_cast<size_t>((line * w.in_w + in_x) * channels + c)];
    }
    const float multiplier = q.scale / (q.scale * static_cast<float>(size));
    const float rounded = std::nearbyint(static_cast<float>(sum) * multiplier) + q.zero_point;
    expected[static_cast<size_t>(pixel * out_stride + c)] =
        static_cast<uint8_t>(std::clamp(rounded, 0.0f, 255.0f));
  }
  avg_pool_nhwc_q8(shape, q, x.data(), channels, y.data(), out_stride);
  ASSERT_EQ(y, expected);
}

TEST(PoolNhwcQ8, Average) {
  for_each_target([] {
    for (int64_t channels : {1, 15, 16, 17, 64, 65, 130}) {
      for (int64_t kernel : {1, 2, 3, 14}) {
        check_average(channels, kernel, 1, {0.37f, 3});
        check_average(channels, kernel, 2, {0.011f, 200});
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
