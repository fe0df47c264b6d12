#include "kernels/image/pixels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

template <typename T>
std::vector<T> noise(int64_t size, uint32_t state) {
  std::vector<T> values(static_cast<size_t>(size));
  for (T& value : values) value = static_cast<T>((state = state * 1664525 + 1013904223) >> 24);
  return values;
}

constexpr int64_t kCounts[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 65, 100};

TEST(Pixels, OfRgbKeepTheirBytes) {
  for_each_target([] {
    for (const int64_t count : kCounts) {
      const auto rgb = noise<uint8_t>(3 * count, 1);
      std::vector<uint8_t> rgbx(static_cast<size_t>(4 * count));
      rgbx_from_rgb(rgb.data(), count, rgbx.data());
      for (size_t i = 0; i < rgb.size(); ++i) ASSERT_EQ(rgbx[i / 3 * 4 + i % 3], rgb[i]);
    }
  });
}

// Ends of rows are computed one by one: every pixel must come out as if it were such an end.
TEST(Pixels, OfYuvAreTheSameAtAnyPlace) {
  const YuvWeights weights{16, 19077, 13075, 3209, 6660, 16526};  // BT.601, limited
  for_each_target([&] {
    for (const int64_t count : kCounts) {
      const int64_t pairs = (count + 1) / 2;
      const auto y = noise<uint8_t>(count, 2), u = noise<uint8_t>(pairs, 3),
                 v = noise<uint8_t>(pairs, 4);
      const auto convert = [&](int64_t first, int64_t n) {
        const int64_t chroma = (n + 1) / 2;
        std::vector<int16_t> terms(static_cast<size_t>(3 * chroma));
        int16_t* t = terms.data();
        chroma_terms(weights, u.data() + first / 2, v.data() + first / 2, chroma, t, t + chroma,
                     t + 2 * chroma);
        std::vector<uint8_t> rgbx(static_cast<size_t>(4 * n), 0);
        rgbx_from_yuv(weights, y.data() + first, n, t, t + chroma, t + 2 * chroma, rgbx.data());
        return rgbx;
      };
      const std::vector<uint8_t> row = convert(0, count);
      for (int64_t i = 0; i < count; i += 2) {
        const std::vector<uint8_t> pair = convert(i, std::min<int64_t>(2, count - i));
        for (size_t k = 0; k < pair.size(); ++k) {
          if (k % 4 == 3) continue;
          ASSERT_EQ(row[static_cast<size_t>(4 * i) + k], pair[k]) << count << " " << i;
        }
      }
    }
  });
}

TEST(Pixels, AreSummedWithTheirWeights) {
  constexpr int64_t kWidth = 40, kFraction = 22;
  const auto bytes = noise<uint8_t>(4 * (kWidth + kRowSlack), 5);
  const std::vector<float> floats(bytes.begin(), bytes.end());
  // Of bytes: four times, an even count; a negative weight and a sum that saturates.
  const std::vector<std::vector<double>> sums = {
      {1, 0}, {0.25, 0.75}, {-0.1, 0.6, 0.7, -0.2}, {0.9, 0.9, 0, 0}};
  std::vector<Window> windows, wide_windows;
  std::vector<float> weights;
  std::vector<int32_t> wide;
  for (int64_t i = 0; i < 13; ++i) {
    const std::vector<double>& sum = sums[static_cast<size_t>(i % 4)];
    const auto count = static_cast<int64_t>(sum.size());
    windows.push_back({3 * i, count, static_cast<int64_t>(weights.size())});
    wide_windows.push_back({3 * i, count, static_cast<int64_t>(wide.size())});
    for (const double weight : sum) {
      weights.push_back(static_cast<float>(weight));
      wide.insert(wide.end(), 4, static_cast<int32_t>(weight * (1 << kFraction)));
    }
  }
  for_each_target([&] {
    std::vector<uint8_t> row(4 * windows.size());
    std::vector<float> float_row(row.size());
    resample_row(bytes.data(), wide_windows.data(), 13, wide.data(), row.data());
    resample_row(floats.data(), windows.data(), 13, weights.data(), float_row.data());
    for (size_t i = 0; i < row.size(); ++i) {
      const Window& window = windows[i / 4];
      int32_t sum = 1 << (kFraction - 1);
      double exact = 0;
      for (int64_t k = 0; k < window.count; ++k) {
        const uint8_t byte = bytes[static_cast<size_t>(4 * (window.first + k)) + i % 4];
        sum += byte * wide[static_cast<size_t>(wide_windows[i / 4].weights + 4 * k)];
        exact += byte * static_cast<double>(weights[static_cast<size_t>(window.weights + k)]);
      }
      ASSERT_EQ(row[i], std::clamp(sum >> kFraction, 0, 255)) << i;
      ASSERT_NEAR(float_row[i], exact, 1e-4) << i;
    }
  });
}

TEST(Pixels, OfRowsAreBlended) {
  const auto a = noise<uint8_t>(100, 6), b = noise<uint8_t>(100, 7), c = noise<uint8_t>(100, 8);
  const uint8_t* const rows[] = {a.data(), b.data(), c.data()};
  const int32_t weights[] = {1 << 21, -(1 << 20), 3 << 20};
  const std::vector<float> fa(a.begin(), a.end()), fb(b.begin(), b.end()), fc(c.begin(), c.end());
  const float* const float_rows[] = {fa.data(), fb.data(), fc.data()};
  const float float_weights[] = {0.5f, -0.25f, 0.75f};
  for_each_target([&] {
    for (const int64_t size : kCounts) {
      std::vector<uint8_t> bytes(static_cast<size_t>(size)), rounded(bytes.size());
      std::vector<float> floats(bytes.size());
      blend_rows(rows, weights, 3, size, bytes.data());
      blend_rows(float_rows, float_weights, 3, size, floats.data());
      bytes_from_floats(floats.data(), size, rounded.data());
      for (size_t i = 0; i < bytes.size(); ++i) {
        const double exact = 0.5 * a[i] - 0.25 * b[i] + 0.75 * c[i];  // and exact as a float
        ASSERT_EQ(floats[i], exact);
        ASSERT_EQ(rounded[i], std::clamp(std::nearbyint(exact), 0.0, 255.0));
        ASSERT_EQ(bytes[i], std::clamp(std::floor(exact + 0.5), 0.0, 255.0));
      }
      floats_from_bytes(a.data(), size, floats.data());
      for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(floats[i], a[i]);
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
