#include "neuralnetworks/operators/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace torchlet::nn {
namespace {

TEST(FixedPoint, Rounds) {
  EXPECT_EQ(rounding_shift(5, 1), 3);
  EXPECT_EQ(rounding_shift(-5, 1), -3);
  EXPECT_EQ(rounding_shift(-4, 3), -1);
  EXPECT_EQ(rounding_shift(-7, 0), -7);
  EXPECT_EQ(high_product16(-1, 1 << 14), 0);
  EXPECT_EQ(high_product16(INT16_MIN, INT16_MIN), INT16_MAX);
  EXPECT_EQ(high_product32(INT32_MIN, INT32_MIN), INT32_MAX);
}

// It rounds twice.
TEST(FixedPoint, MultipliesByRealFactors) {
  for (const double factor : {0.0, 1e-12, 3e-5, 0.25, 0.3, 1.0, 77.7}) {
    for (const int x : {0, 1, -1, 1000, -123456}) {
      EXPECT_NEAR(Multiplier(factor)(x), x * factor, 1 + 1e-6 * std::abs(x * factor))
          << x << " * " << factor;
    }
  }
  EXPECT_THROW(Multiplier{-1}, Error);
  EXPECT_THROW(Multiplier{NAN}, Error);
  EXPECT_THROW(Multiplier{INFINITY}, Error);
}

TEST(FixedPoint, InverseSquareRoots) {
  for (const int x : {0, 1, 2, 3, 17, 1000, 65536, 123456789, INT32_MAX}) {
    const double expected = (1 << 26) / std::sqrt(std::max(x, 1));
    EXPECT_NEAR(Multiplier::inverse_square_root(x)(1 << 26), expected, 1 + 1e-3 * expected) << x;
  }
}

TEST(FixedPoint, SigmoidAndTanhOfAllNumbers) {
  for (int x = INT16_MIN; x <= INT16_MAX; ++x) {
    const auto raw = static_cast<int16_t>(x);
    ASSERT_NEAR(fixed_sigmoid(raw), 32768 / (1 + std::exp(-x / 4096.0)), 7) << x;
    for (int bits = 0; bits <= 6; ++bits) {
      ASSERT_NEAR(fixed_tanh(raw, bits), 32768 * std::tanh(std::ldexp(x, bits - 15)), 16)
          << x << ", " << bits << " integer bits";
    }
  }
  EXPECT_EQ(fixed_sigmoid(0), 1 << 14);
  EXPECT_EQ(fixed_tanh(0, 3), 0);
}

}  // namespace
}  // namespace torchlet::nn
