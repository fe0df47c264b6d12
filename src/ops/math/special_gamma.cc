// Gamma, its derivatives, the incomplete gamma functions and the Hurwitz zeta function.
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/engines/elementwise.h"
#include "ops/math/special_math.h"
#include "ops/math/special_series.h"

namespace torchlet::ops::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kFloatEpsilon = std::numeric_limits<float>::epsilon() / 2;

// Bernoulli numbers B_2, B_4, ... B_24.
constexpr double kBernoulli[] = {
    1.0 / 6, -1.0 / 30,     1.0 / 42,      -1.0 / 30,       5.0 / 66,       -691.0 / 2730,
    7.0 / 6, -3617.0 / 510, 43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};

// For floats: lgamma(x) / ((x - 1) (x - 2)) for x in [1, 3], in x - 2.
constexpr float kLgamma[] = {0.441489025f,    -0.111195803f,    0.0195104483f,   -0.00392246146f,
                             0.00084789899f,  -0.000191538553f, 4.45447018e-05f, -1.05728744e-05f,
                             2.54743369e-06f, -6.20853588e-07f, 1.52686774e-07f, -3.78263766e-08f,
                             9.42810082e-09f};

// x^a e^-x / gamma(a + 1)
double power_over_gamma(double a, double x) {
  return std::exp(a * std::log(x) - x - lgamma(a + 1));
}

// P(a, x) by its power series, 8.11.4; for x < a + 1. To a relative epsilon, as below.
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

// P and Q of any arguments.
double lower(double a, double x, double epsilon) {
  if (x < 0 || a < 0 || std::isnan(a) || std::isnan(x)) return kNaN;
  if (a == 0) return x > 0 ? 1 : kNaN;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 0;
  if (std::isinf(x)) return 1;
  return x < a + 1 ? lower_series(a, x, epsilon) : 1 - upper_fraction(a, x, epsilon);
}
double upper(double a, double x, double epsilon) {
  if (x < 0 || a < 0 || std::isnan(a) || std::isnan(x)) return kNaN;
  if (a == 0) return x > 0 ? 0 : kNaN;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 1;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? 1 - lower_series(a, x, epsilon) : upper_fraction(a, x, epsilon);
}

// Recurrence up to where the asymptotic series 5.11.2 holds; reflection 5.5.4 for x < 0.
template <typename T>
T digamma_of(T x) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  if (x == T(0)) return std::copysign(std::numeric_limits<T>::infinity(), -x);
  if (x < T(0)) {
    const double whole = std::trunc(x), angle = std::numbers::pi * (x - whole);
    if (whole == x) return std::numeric_limits<T>::quiet_NaN();
    return digamma_of(T(1) - x) - static_cast<T>(std::numbers::pi / std::tan(angle));
  }
  T result = 0;
  for (; x < T(kIsFloat ? 5 : 10); x += 1) result -= T(1) / x;
  const T inverse = T(1) / (x * x);
  T series = 0;
  for (int k = kIsFloat ? 4 : 8; k > 0; --k) {
    series = (series + static_cast<T>(kBernoulli[k - 1] / (2 * k))) * inverse;
  }
  return result + std::log(x) - T(0.5) / x - series;
}

// Every large double is a whole number; std::floor is a call where processors need not have it.
bool is_whole(double x) {
  constexpr double kLarge = 1LL << 53;
  return !(std::abs(x) < kLarge) || x == static_cast<double>(static_cast<int64_t>(x));
}

// Euler-Maclaurin summation, 25.11, from the first q + k > `far` on; to a relative epsilon.
double zeta_of(double s, double q, int far, double epsilon) {
  if (s == 1) return kInfinity;
  if (s < 1 || std::isnan(s) || std::isnan(q)) return kNaN;
  if (q <= 0) {
    if (is_whole(q)) return kInfinity;
    if (!is_whole(s)) return kNaN;  // (q + k)^-s is not real
  }
  double total = 0, term = 0;
  int k = 0;
  for (; k < far || q + k <= far; ++k) {
    term = std::pow(q + k, -s);
    total += term;
    if (std::abs(term) < epsilon * std::abs(total)) return total;
  }
  const double n = q + k;
  term = std::pow(n, -s);
  total += term * n / (s - 1) + term / 2;
  double factor = s * term / n;  // s (s + 1) ... (s + 2j - 2) n^(-s - 2j + 1)
  double factorial = 2;          // (2j)!
  for (int j = 1; j <= 12; ++j) {
    const double correction = kBernoulli[j - 1] / factorial * factor;
    total += correction;
    if (std::abs(correction) < epsilon * std::abs(total)) break;
    factor *= (s + 2 * j - 1) * (s + 2 * j) / (n * n);
    factorial *= (2 * j + 1) * (2 * j + 2);
  }
  return total;
}

}  // namespace

// std::lgamma writes a global sign, so two threads may not call it.
double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

void lgamma(const double* x, double* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = lgamma(x[i]);
}
// In (0, 1) from the value at x + 1.
void lgamma(const float* x, float* y, int64_t count) {
  with_log(
      x, y, count, [](float v) { return choose(v < 1.0f, v, 1.0f); },
      [](float v, float log) {
        const float above = choose(v < 1.0f, v, v - 1.0f);  // x - 1 for an x >= 1
        return above * (above - 1.0f) * series<kLgamma>(above - 1.0f) - log;
      });
  for (int64_t i = 0; i < count; ++i) {
    if (!(x[i] > 0 && x[i] <= 3)) y[i] = static_cast<float>(lgamma(double{x[i]}));
  }
}

double digamma(double x) { return digamma_of(x); }
void digamma(const float* x, float* y, int64_t count) { each(x, y, count, digamma_of<float>); }

double zeta(double s, double q) { return zeta_of(s, q, 10, kEpsilon); }
float zeta(float s, float q) { return static_cast<float>(zeta_of(s, q, 4, kFloatEpsilon)); }

// 5.15.1
double polygamma(int64_t n, double x) {
  if (n == 0) return digamma(x);
  const double m = static_cast<double>(n);
  const double magnitude = std::tgamma(m + 1) * zeta(m + 1, x);
  return n % 2 ? magnitude : -magnitude;
}

double igamma(double a, double x) { return lower(a, x, kEpsilon); }
double igammac(double a, double x) { return upper(a, x, kEpsilon); }
float igamma(float a, float x) { return static_cast<float>(lower(a, x, kFloatEpsilon)); }
float igammac(float a, float x) { return static_cast<float>(upper(a, x, kFloatEpsilon)); }

}  // namespace torchlet::ops::special
