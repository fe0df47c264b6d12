#include "kernels/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/target_test.h"

namespace torchlet::kernels {
namespace {

class RowsTest : public testing::TestWithParam<int64_t> {
 protected:
  static constexpr int64_t kRows = 3;

  RowsTest() : cols_(GetParam()), x_(static_cast<size_t>(kRows * cols_)), y_(x_.size() + 1, 777) {
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

INSTANTIATE_TEST_SUITE_P(Cols, RowsTest,
                         testing::Values(1, 2, 3, 7, 8, 15, 16, 17, 49, 64, 100, 1000));

TEST_P(RowsTest, SumsAndMoments) {
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

TEST_P(RowsTest, Softmax) {
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

TEST_P(RowsTest, LayerNorm) {
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
          EXPECT_NEAR(result(row, i), affine ? normal * weight[col] + bias[col] : normal, 1e-5);
        }
      }
      EXPECT_EQ(y_.back(), 777);
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
