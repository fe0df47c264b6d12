#include "kernels/elementwise/normalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

class NormalizeTest : public testing::TestWithParam<int64_t> {
 protected:
  static constexpr int64_t kRows = 70;  // more than are taken at once

  NormalizeTest()
      : cols_(GetParam()), x_(static_cast<size_t>(kRows * cols_)), y_(x_.size() + 1, 777) {
    for (size_t i = 0; i < x_.size(); ++i) {
      x_[i] = 3 * std::sin(static_cast<float>(i) * 0.7f) + static_cast<float>(i % 3);
    }
  }

  double mean(int64_t row) const {
    double sum = 0;
    for (int64_t i = 0; i < cols_; ++i) sum += at(row, i);
    return sum / static_cast<double>(cols_);
  }
  double variance(int64_t row) const {
    const double center = mean(row);
    double sum = 0;
    for (int64_t i = 0; i < cols_; ++i) sum += std::pow(at(row, i) - center, 2);
    return sum / static_cast<double>(cols_);
  }
  double at(int64_t row, int64_t col) const { return x_[static_cast<size_t>(row * cols_ + col)]; }
  double result(int64_t row, int64_t col) const {
    return y_[static_cast<size_t>(row * cols_ + col)];
  }

  const int64_t cols_;
  std::vector<float> x_, y_;
};

INSTANTIATE_TEST_SUITE_P(Cols, NormalizeTest,
                         testing::Values(1, 2, 3, 7, 8, 15, 16, 17, 49, 64, 100, 1000));

TEST_P(NormalizeTest, SumsAndMoments) {
  for_each_target([&] {
    float sums[kRows], means[kRows], variances[kRows];
    row_sums_f32(x_.data(), sums, kRows, cols_);
    row_moments_f32(x_.data(), means, variances, kRows, cols_);
    for (int64_t row = 0; row < kRows; ++row) {
      EXPECT_NEAR(sums[row] / static_cast<double>(cols_), mean(row), 1e-6);
      EXPECT_NEAR(means[row], mean(row), 1e-6);
      EXPECT_NEAR(variances[row], variance(row), 1e-5);
    }
  });
}

TEST_P(NormalizeTest, Softmax) {
  for_each_target([&] {
    for (const bool logarithm : {false, true}) {
      (logarithm ? log_softmax_f32 : softmax_f32)(x_.data(), y_.data(), kRows, cols_);
      for (int64_t row = 0; row < kRows; ++row) {
        double sum = 0;
        for (int64_t i = 0; i < cols_; ++i) sum += std::exp(at(row, i));
        for (int64_t i = 0; i < cols_; ++i) {
          const double exact = at(row, i) - std::log(sum);
          EXPECT_NEAR(result(row, i), logarithm ? exact : std::exp(exact), 2e-6);
        }
      }
      EXPECT_EQ(y_.back(), 777);
    }
  });
}

TEST_P(NormalizeTest, LayerNorm) {
  std::vector<float> weight(static_cast<size_t>(cols_)), bias = weight;
  for (size_t i = 0; i < weight.size(); ++i) {
    weight[i] = 1 + static_cast<float>(i % 4);
    bias[i] = static_cast<float>(i % 3);
  }
  for_each_target([&] {
    for (const bool affine : {false, true}) {
      layer_norm_f32(x_.data(), affine ? weight.data() : nullptr, affine ? bias.data() : nullptr,
                     y_.data(), kRows, cols_, 1e-5f);
      for (int64_t row = 0; row < kRows; ++row) {
        const double center = mean(row), deviation = std::sqrt(variance(row) + 1e-5);
        for (int64_t i = 0; i < cols_; ++i) {
          const double normal = (at(row, i) - center) / deviation;
          const size_t col = static_cast<size_t>(i);
          const double w = affine ? weight[col] : 1, b = affine ? bias[col] : 0;
          // PyTorch's formula rounds mean / deviation, which is large for a row of one number.
          const double rounding = std::fabs(center / deviation) * 0x1p-24 * w;
          EXPECT_NEAR(result(row, i), normal * w + b, 1e-5 + rounding);
        }
      }
      EXPECT_EQ(y_.back(), 777);
    }
  });
}

TEST_P(NormalizeTest, L2Normalize) {
  for_each_target([&] {
    for (const float eps : {1e-12f, 1e4f}) {
      l2_normalize_rows_f32(x_.data(), cols_, y_.data(), cols_, kRows, cols_, eps);
      for (int64_t row = 0; row < kRows; ++row) {
        const double squares = (variance(row) + mean(row) * mean(row)) * static_cast<double>(cols_);
        const double norm = std::fmax(eps, std::sqrt(squares));
        for (int64_t i = 0; i < cols_; ++i) EXPECT_NEAR(result(row, i), at(row, i) / norm, 1e-6);
      }
    }
  });
}

TEST_P(NormalizeTest, RowsMayLieApart) {
  for_each_target([&] {
    const int64_t stride = cols_ + 3, y_stride = cols_ + 5;
    std::vector<float> x(static_cast<size_t>(kRows * stride), 1e9f);
    for (int64_t i = 0; i < kRows * cols_; ++i) {
      x[static_cast<size_t>(i / cols_ * stride + i % cols_)] = x_[static_cast<size_t>(i)];
    }
    std::vector<float> y(static_cast<size_t>(kRows * y_stride), 777);
    softmax_rows_f32(x_.data(), cols_, y_.data(), cols_, kRows, cols_);
    softmax_rows_f32(x.data(), stride, y.data(), y_stride, kRows, cols_);
    for (int64_t i = 0; i < kRows * y_stride; ++i) {
      const int64_t row = i / y_stride, col = i % y_stride;
      const float expected = col < cols_ ? y_[static_cast<size_t>(row * cols_ + col)] : 777.0f;
      ASSERT_EQ(y[static_cast<size_t>(i)], expected);
    }
    layer_norm_rows_f32(x_.data(), cols_, nullptr, nullptr, y_.data(), cols_, kRows, cols_, 1e-5f);
    layer_norm_rows_f32(x.data(), stride, nullptr, nullptr, x.data(), stride, kRows, cols_, 1e-5f);
    for (int64_t i = 0; i < kRows * cols_; ++i) {
      ASSERT_EQ(x[static_cast<size_t>(i / cols_ * stride + i % cols_)], y_[static_cast<size_t>(i)]);
    }
  });
}

TEST(LayerNorm, IsTheSameOnAnyNumberOfThreads) {
  constexpr int64_t kRows = 300, kCols = 990;  // which tasks do not cut into fours by themselves
  std::vector<float> x(static_cast<size_t>(kRows * kCols)), alone(x.size()), together(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 0.7f);
  const int threads = num_threads();
  set_num_threads(1);
  layer_norm_f32(x.data(), nullptr, nullptr, alone.data(), kRows, kCols, 1e-5f);
  set_num_threads(3);
  layer_norm_f32(x.data(), nullptr, nullptr, together.data(), kRows, kCols, 1e-5f);
  set_num_threads(threads);
  EXPECT_EQ(together, alone);
}

TEST(GroupNorm, GroupsAndAffine) {
  for_each_target([] {
    for (const auto& [channels, groups, gap] : {std::tuple{6, 3, 1},
                                                {16, 1, 1},
                                                {17, 17, 1},
                                                {40, 5, 1},
                                                {100, 4, 1},
                                                {6, 3, 0},
                                                {2, 2, 0},
                                                {64, 8, 0}}) {
      const int64_t batch = 2, pixels = gap > 0 ? 13 : 24, stride = channels + gap;
      const int64_t width = channels / groups;
      std::vector<float> x(static_cast<size_t>(batch * pixels * stride)), y(x.size(), 777);
      for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 97)) + 2;
      std::vector<float> weight, bias;
      for (int c = 0; c < channels; ++c) {
        weight.push_back(1 + static_cast<float>(c % 4));
        bias.push_back(static_cast<float>(c % 3) - 1);
      }
      group_norm_nhwc_f32(batch, pixels, channels, groups, x.data(), stride, weight.data(),
                          bias.data(), 1e-3f, {ActivationKind::kClamp, 0, INFINITY}, y.data(),
                          stride);
      for (int64_t n = 0; n < batch; ++n) {
        for (int64_t g = 0; g < groups; ++g) {
          const auto value = [&](int64_t p, int64_t i) {
            return static_cast<size_t>((n * pixels + p) * stride + g * width + i);
          };
          double mean = 0, variance = 0;
          for (int64_t i = 0; i < pixels * width; ++i) mean += x[value(i / width, i % width)];
          mean /= static_cast<double>(pixels * width);
          for (int64_t i = 0; i < pixels * width; ++i) {
            variance += std::pow(x[value(i / width, i % width)] - mean, 2);
          }
          variance /= static_cast<double>(pixels * width);
          for (int64_t i = 0; i < pixels * width; ++i) {
            const size_t at = value(i / width, i % width);
            const size_t c = static_cast<size_t>(g * width + i % width);
            const double normal = (x[at] - mean) / std::sqrt(variance + 1e-3);
            EXPECT_NEAR(y[at], std::fmax(0, normal * weight[c] + bias[c]), 3e-5);
          }
        }
        if (gap == 0) continue;
        EXPECT_EQ(y[static_cast<size_t>(n * pixels * stride + channels)], 777);
      }
    }
  });
}

TEST(GroupNorm, ManyPixelsStayExact) {
  for_each_target([] {
    const int64_t pixels = 100003, channels = 5;  // an odd count: no pixels are taken together
    std::vector<float> x(static_cast<size_t>(pixels * channels)), y(x.size());
    double mean = 0, square = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = 3 + static_cast<float>(i / 5 % 7);
      if (i % 5 == 0) mean += x[i];
      if (i % 5 == 0) square += std::pow(static_cast<double>(x[i]), 2);
    }
    mean /= static_cast<double>(pixels);
    const double deviation = std::sqrt(square / static_cast<double>(pixels) - mean * mean);
    group_norm_nhwc_f32(1, pixels, channels, channels, x.data(), channels, nullptr, nullptr, 0, {},
                        y.data(), channels);
    for (size_t i = 0; i < 100; ++i) EXPECT_NEAR(y[i], (x[i] - mean) / deviation, 1e-6);
  });
}

TEST(Softmax, DownColumnsAsAlongRows) {
  for_each_target([] {
    for (const int64_t rows : {1, 2, 21}) {
      for (const int64_t cols : {1, 3, 15, 16, 31, 32, 33, 64, 70, 5000}) {
        constexpr int64_t kMatrices = 2;
        std::vector<float> x(static_cast<size_t>(kMatrices * rows * cols)), across(x.size());
        std::vector<float> rows_of(x.size()), y(x.size() + 1, 777);
        for (size_t i = 0; i < x.size(); ++i) x[i] = 3 * std::sin(static_cast<float>(i) * 0.7f);
        const auto turn = [&](const std::vector<float>& from, int64_t r, int64_t c, float* to) {
          for (int64_t m = 0; m < kMatrices; ++m) {
            for (int64_t i = 0; i < r * c; ++i) {
              to[m * r * c + i % c * r + i / c] = from[static_cast<size_t>(m * r * c + i)];
            }
          }
        };
        turn(x, rows, cols, across.data());
        for (const bool logarithm : {false, true}) {
          (logarithm ? log_softmax_f32 : softmax_f32)(across.data(), rows_of.data(),
                                                      kMatrices * cols, rows);
          std::vector<float> expected(x.size());
          turn(rows_of, cols, rows, expected.data());
          (logarithm ? log_softmax_columns_f32 : softmax_columns_f32)(x.data(), y.data(), kMatrices,
                                                                      rows, cols);
          for (size_t i = 0; i < x.size(); ++i) {
            ASSERT_NEAR(y[i], expected[i], 1e-6) << rows << " x " << cols << " at " << i;
          }
          ASSERT_EQ(y.back(), 777);
        }
      }
    }
  });
}

TEST(Softmax, ExtremesAsInPyTorch) {
  for_each_target([] {
    const float inf = INFINITY;
    std::vector<float> x = {-inf, 0, 1000, 5, NAN, 1, -inf, -inf, -inf}, y(9);
    softmax_f32(x.data(), y.data(), 3, 3);
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], 0);
    EXPECT_EQ(y[2], 1);
    EXPECT_TRUE(std::all_of(y.begin() + 3, y.end(), [](float v) { return std::isnan(v); }));
  });
}

}  // namespace
}  // namespace torchlet::kernels
