// Gamma, its derivatives, the incomplete gamma functions and the Hurwitz zeta function.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/math/special_math.h"

namespace torchlet::ops::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Bernoulli numbers B_2, B_4, ... B_24.
constexpr double kBernoulli[] = {
    1.0 / 6, -1.0 / 30,     1.0 / 42,      -1.0 / 30,       5.0 / 66,       -691.0 / 2730,
    7.0 / 6, -3617.0 / 510, 43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};

// x^a e^-x / gamma(a + 1)
double power_over_gamma(double a, double x) {
  return std::exp(a * std::log(x) - x - lgamma(a + 1));
}

// P(a, x) by its power series, 8.11.4; for x < a + 1.
double lower_series(double a, double x, double epsilon) {
  double term = 1, total = 1;
  for (double k = a + 1; term > epsilon * total; k += 1) total += term *= x / k;
  return power_over_gamma(a, x) * total;
}

// Q(a, x) by the continued fraction 8.9.2, evaluated by Lentz's method; for x >= a + 1.
double upper_fraction(double a, double x, double epsilon) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int k = 1; k < 100000; ++k) {
    const double an = -k * (k - a);
    b += 2;
    d = an * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + an / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double factor = d * c;
    h *= factor;
    if (std::abs(factor - 1) < epsilon) break;
  }
  return power_over_gamma(a, x) * a * h;
}

}  // namespace

// std::lgamma writes a global sign, so two threads may not call it.
double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
float lgamma(float x) {
  int sign;
  return ::lgammaf_r(x, &sign);
}

// Recurrence up to x >= 10, then the asymptotic series 5.11.2; reflection 5.5.4 for x < 0.
double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) {
    const double whole = std::trunc(x);
    if (whole == x) return kNaN;
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * (x - whole));
  }
  double result = 0;
  for (; x < 10; x += 1) result -= 1 / x;
  const double inverse = 1 / (x * x);
  static constexpr auto kTerms = [] {
    std::array<double, 8> terms{};
    for (size_t k = 0; k < terms.size(); ++k) {
      terms[k] = kBernoulli[k] / (2 * static_cast<double>(k) + 2);
    }
    return terms;
  }();
  double power = inverse, series = 0;
  for (const double term : kTerms) {
    series += term * power;
    power *= inverse;
  }
  return result + std::log(x) - 0.5 / x - series;
}

// Euler-Maclaurin summation, 25.11.
double zeta(double s, double q) {
  if (s == 1) return kInfinity;
  if (s < 1 || std::isnan(s) || std::isnan(q)) return kNaN;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNaN;  // (q + k)^-s is not real
  }
  double total = 0, term = 0;
  int k = 0;
  for (; k < 10 || q + k <= 10; ++k) {
    term = std::pow(q + k, -s);
    total += term;
    if (std::abs(term) < kEpsilon * std::abs(total)) return total;
  }
  const double n = q + k;
  term = std::pow(n, -s);
  total += term * n / (s - 1) + term / 2;
  double factor = s * term / n;  // s (s + 1) ... (s + 2j - 2) n^(-s - 2j + 1)
  double factorial = 2;          // (2j)!
  for (int j = 1; j <= 12; ++j) {
    const double correction = kBernoulli[j - 1] / factorial * factor;
    total += correction;
    if (std::abs(correction) < kEpsilon * std::abs(total)) break;
    factor *= (s + 2 * j - 1) * (s + 2 * j) / (n * n);
    factorial *= (2 * j + 1) * (2 * j + 2);
  }
  return total;
}

// 5.15.1
double polygamma(int64_t n, double x) {
  if (n == 0) return digamma(x);
  const double m = static_cast<double>(n);
  const double magnitude = std::tgamma(m + 1) * zeta(m + 1, x);
  return n % 2 ? magnitude : -magnitude;
}

double igamma(double a, double x, double epsilon) {
  if (x < 0 || a < 0 || std::isnan(a) || std::isnan(x)) return kNaN;
  if (a == 0) return x > 0 ? 1 : kNaN;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 0;
  if (std::isinf(x)) return 1;
  return x < a + 1 ? lower_series(a, x, epsilon) : 1 - upper_fraction(a, x, epsilon);
}

double igammac(double a, double x, double epsilon) {
  if (x < 0 || a < 0 || std::isnan(a) || std::isnan(x)) return kNaN;
  if (a == 0) return x > 0 ? 0 : kNaN;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 1;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? 1 - lower_series(a, x, epsilon) : upper_fraction(a, x, epsilon);
}

}  // namespace torchlet::ops::special
