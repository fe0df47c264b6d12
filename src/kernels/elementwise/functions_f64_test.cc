#include "kernels/elementwise/functions_f64.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

using Function = double (*)(double);
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  DoubleFunction function;
  Function expected;
  double low, high;  // of usual arguments
};
constexpr Case kCases[] = {
    {DoubleFunction::kExp, std::exp, -700, 700},
    {DoubleFunction::kExpm1, std::expm1, -40, 700},
    {DoubleFunction::kLog, std::log, 1e-300, 1e300},
    {DoubleFunction::kLog1p, std::log1p, -0.99, 1e10},
    {DoubleFunction::kSin, std::sin, -39000, 39000},
    {DoubleFunction::kCos, std::cos, -39000, 39000},
    {DoubleFunction::kTanh, std::tanh, -30, 30},
    {DoubleFunction::kSigmoid, sigmoid, -700, 700},
    {DoubleFunction::kSqrt, std::sqrt, 0, 1e300},
};

// Of arguments that lie dense around 0 and far from it; in units of the last place, of results near
// 0 of a periodic function in those of 2^-12.
TEST(FunctionsF64, UsualNumbers) {
  for_each_target([] {
    std::mt19937_64 random(1);
    for (const Case& c : kCases) {
      std::vector<double> x;
      std::uniform_real_distribution<double> some(c.low, c.high), near(std::max(-1.0, c.low), 1);
      for (int i = 0; i < 5000; ++i) {
        x.push_back(some(random));
        x.push_back(near(random));
        x.push_back(near(random) * std::exp2(-static_cast<double>(i % 300)));
      }
      std::vector<double> y(x.size());
      function_f64(c.function, x.data(), y.data(), static_cast<int64_t>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = c.expected(x[i]);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(y[i]));
          continue;
        }
        const bool is_periodic =
            c.function == DoubleFunction::kSin || c.function == DoubleFunction::kCos;
        const double size = std::max(std::abs(expected), is_periodic ? 0x1p-12 : 0.0);
        EXPECT_LE(std::abs(y[i] - expected), 5 * 0x1p-52 * size)
            << "function " << static_cast<int>(c.function) << " of " << x[i];
      }
    }
  });
}

TEST(FunctionsF64, UnusualNumbers) {
  for_each_target([] {
    const double all[] = {0.0,     -0.0,   kInfinity, -kInfinity, std::nan(""), 5e-324,
                          -5e-324, 1e-310, -1.0,      -2.0,       700.5,        709.7,
                          710.0,   -708.5, -745.0,    -746.0,     1e300,        -1e300,
                          39000.5, 1e22,   -1e22,     0x1p-60,    1.0,          -0.9995};
    for (const Case& c : kCases) {
      for (const double x : all) {
        // Among usual ones, wherever in a vector.
        for (size_t at = 0; at < 9; ++at) {
          std::vector<double> numbers(9, 0.5);
          numbers[at] = x;
          function_f64(c.function, numbers.data(), numbers.data(), 9);
          const double expected = c.expected(x), y = numbers[at];
          if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(y)) << x;
          } else if (std::isinf(expected) || expected == 0) {
            EXPECT_EQ(std::bit_cast<uint64_t>(y), std::bit_cast<uint64_t>(expected))
                << "function " << static_cast<int>(c.function) << " of " << x;
          } else {
            EXPECT_LE(std::abs(y - expected), 5 * 0x1p-52 * std::abs(expected))
                << "function " << static_cast<int>(c.function) << " of " << x;
          }
        }
      }
    }
  });
}

// A result does not depend on where its argument lies.
TEST(FunctionsF64, EveryCount) {
  for_each_target([] {
    for (const Case& c : kCases) {
      std::vector<double> x, all(19);
      for (int i = 0; i < 19; ++i) x.push_back(0.1 + 0.37 * i);
      function_f64(c.function, x.data(), all.data(), 19);
      for (int64_t count = 1; count < 19; ++count) {
        std::vector<double> y(19, -7.0);
        function_f64(c.function, x.data() + 19 - count, y.data(), count);
        for (int64_t i = 0; i < 19; ++i) {
          const double expected = i < count ? all[static_cast<size_t>(19 - count + i)] : -7.0;
          EXPECT_EQ(y[static_cast<size_t>(i)], expected);
        }
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
