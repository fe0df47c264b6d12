#include "kernels/elementwise/elementwise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> apply(UnaryFunction* function, const std::vector<float>& x, float alpha = 0,
                         float beta = 0) {
  std::vector<float> y(x.size());
  function(x.data(), y.data(), static_cast<int64_t>(x.size()), alpha, beta);
  return y;
}

// All signs and magnitudes from denormal to infinite, `step` bit patterns apart.
std::vector<float> all_floats(uint32_t step) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits <= 0x7f800000u; bits += step) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    x.push_back(-x.back());
  }
  return x;
}

struct Accuracy {
  UnaryFunction* kernel;
  double (*exact)(double);
  double max_ulps;
};

double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Unary, ElementaryFunctionsAreAccurate) {
  const Accuracy functions[] = {{exp_f32, [](double x) { return std::exp(x); }, 1.0},
                                {erf_f32, [](double x) { return std::erf(x); }, 1.1},
                                {tanh_f32, [](double x) { return std::tanh(x); }, 2.0},
                                {sigmoid_f32, exact_sigmoid, 2.0},
                                {tan_f32, [](double x) { return std::tan(x); }, 3.0},
                                {asin_f32, [](double x) { return std::asin(x); }, 3.0},
                                {acos_f32, [](double x) { return std::acos(x); }, 2.0},
                                {atan_f32, [](double x) { return std::atan(x); }, 2.0},
                                {sinh_f32, [](double x) { return std::sinh(x); }, 4.0},
                                {cosh_f32, [](double x) { return std::cosh(x); }, 4.0},
                                {erfc_f32, [](double x) { return std::erfc(x); }, 4.0}};
  const std::vector<float> x = all_floats(4001);
  for_each_target([&] {
    for (const Accuracy& function : functions) {
      const std::vector<float> y = apply(function.kernel, x);
      for (size_t i = 0; i < x.size(); ++i) {
        // Where e^-x overflows, sigmoid is 0 and not a denormal number.
        if (function.kernel == sigmoid_f32 && x[i] < -88) {
          EXPECT_NEAR(y[i], 0, 1e-38);
          continue;
        }
        const double exact = function.exact(x[i]);
        if (std::isnan(exact)) {  // asin and acos beyond 1
          ASSERT_TRUE(std::isnan(y[i])) << &function - functions << " of " << x[i];
          continue;
        }
        const double error = ulps(y[i], exact);
        ASSERT_LE(error, function.max_ulps + kQuotientUlps)
            << "function " << &function - functions << " of " << x[i] << " is " << y[i];
      }
    }
  });
}

TEST(Unary, EveryOpOnEveryTail) {
  struct Case {
    UnaryFunction* kernel;
    float alpha, beta;
    double (*exact)(double);
  };
  const Case cases[] = {
      {clamp_f32, 0, 6, [](double x) { return std::fmin(6, std::fmax(0, x)); }},
      {leaky_relu_f32, 0.1f, 0, [](double x) { return x > 0 ? x : x * 0.1f; }},
      {hardsigmoid_f32, 0, 0, [](double x) { return std::fmin(6, std::fmax(0, x + 3)) / 6; }},
      {hardswish_f32, 0, 0, [](double x) { return x * std::fmin(6, std::fmax(0, x + 3)) / 6; }},
      {exp_f32, 0, 0, [](double x) { return std::exp(x); }},
      {erf_f32, 0, 0, [](double x) { return std::erf(x); }},
      {sigmoid_f32, 0, 0, exact_sigmoid},
      {tanh_f32, 0, 0, [](double x) { return std::tanh(x); }},
      {silu_f32, 0, 0, [](double x) { return x * exact_sigmoid(x); }},
      {gelu_f32, 0, 0, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2))); }},
      {gelu_tanh_f32, 0, 0,
       [](double x) {
         return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {tan_f32, 0, 0, [](double x) { return std::tan(x); }},
      {atan_f32, 0, 0, [](double x) { return std::atan(x); }},
      {sinh_f32, 0, 0, [](double x) { return std::sinh(x); }},
      {cosh_f32, 0, 0, [](double x) { return std::cosh(x); }},
      {erfc_f32, 0, 0, [](double x) { return std::erfc(x); }}};
  for_each_target([&] {
    for (const Case& c : cases) {
      for (size_t n = 0; n < 50; ++n) {
        std::vector<float> x(n + 1);
        for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i) * 0.37f - 7;
        if (n > 0) x[n / 2] = kNaN;
        x[n] = 777;  // guard
        c.kernel(x.data(), x.data(), static_cast<int64_t>(n), c.alpha, c.beta);
        for (size_t i = 0; i < n; ++i) {
          if (i == n / 2) {
            EXPECT_TRUE(std::isnan(x[i])) << &c - cases;
            continue;
          }
          const double exact = c.exact(static_cast<float>(i) * 0.37f - 7);
          ASSERT_NEAR(x[i], exact, 4e-7 * std::fmax(1, std::fabs(exact))) << &c - cases;
        }
        ASSERT_EQ(x[n], 777);
      }
    }
  });
}

TEST(Unary, InfinitiesEndWhereTheyShould) {
  for_each_target([] {
    EXPECT_EQ(apply(exp_f32, {-kInf, kInf}), (std::vector<float>{0, kInf}));
    EXPECT_EQ(apply(tanh_f32, {-kInf, kInf}), (std::vector<float>{-1, 1}));
    EXPECT_EQ(apply(sigmoid_f32, {-kInf, kInf}), (std::vector<float>{0, 1}));
    EXPECT_EQ(apply(erf_f32, {-kInf, kInf}), (std::vector<float>{-1, 1}));
    EXPECT_EQ(apply(sinh_f32, {-kInf, kInf}), (std::vector<float>{-kInf, kInf}));
    EXPECT_EQ(apply(cosh_f32, {-kInf, kInf}), (std::vector<float>{kInf, kInf}));
    EXPECT_EQ(apply(erfc_f32, {-kInf, kInf}), (std::vector<float>{2, 0}));
    EXPECT_EQ(apply(acos_f32, {-1, 1}), (std::vector<float>{3.14159274f, 0}));
  });
}

std::vector<float> powers(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> to(x.size() + 1, 777);  // the last one is a guard
  pow_f32(x.data(), y.data(), to.data(), static_cast<int64_t>(x.size()));
  EXPECT_EQ(to.back(), 777);
  to.pop_back();
  return to;
}

TEST(Power, IsAccurate) {
  const std::vector<float> all = all_floats(300007);
  std::vector<float> x, y;
  const auto add = [&](float base, float exponent) {
    x.push_back(base);
    y.push_back(exponent);
  };
  for (const float base : all) {
    for (const float exponent : {0.5f, -0.5f, 1.7f, -0.333f, 2.0f, -3.0f, 0.01f}) {
      add(base, exponent);
    }
    for (const float near : {0.5f, 0.999f, 1.0000001f, -1.25f, 1.5f, 30.0f}) add(near, base);
  }
  for (int i = -2000; i < 2000; ++i) add(1 + static_cast<float>(i) * 1e-6f, 1e4f * (i % 7));
  for_each_target([&] {
    const std::vector<float> to = powers(x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(to[i])) << x[i] << "^" << y[i];
        continue;
      }
      ASSERT_LE(ulps(to[i], exact), 0.6) << x[i] << "^" << y[i] << " is " << to[i];
      ASSERT_EQ(std::signbit(to[i]), std::signbit(exact)) << x[i] << "^" << y[i];
    }
  });
}

TEST(Power, OfSpecialNumbersOnEveryTail) {
  constexpr float kSpecial[] = {0,     -0.0f, 1,      -1,     kInf,     -kInf,     kNaN,
                                0.5f,  -0.5f, 2,      -2,     3,        -3,        1e-45f,
                                -2.5f, 3e38f, -3e38f, 1e-38f, 16777215, -16777215, 16777216};
  for_each_target([&] {
    std::vector<float> x, y;
    for (const float base : kSpecial) {
      for (const float exponent : kSpecial) {
        x.push_back(base);
        y.push_back(exponent);
        if (x.size() < 20) powers(x, y);
      }
    }
    const std::vector<float> to = powers(x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const float exact = std::pow(x[i], y[i]);
      EXPECT_TRUE(std::isnan(exact) ? std::isnan(to[i])
                                    : to[i] == exact && std::signbit(to[i]) == std::signbit(exact))
          << x[i] << "^" << y[i] << " is " << to[i] << ", not " << exact;
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
