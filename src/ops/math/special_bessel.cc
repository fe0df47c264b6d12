// Bessel functions of orders 0 and 1, and Airy's Ai.
#include <math.h>  // j0 and its like are POSIX's

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/math/special_math.h"

namespace torchlet::ops::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kPi = std::numbers::pi;
// From here on the asymptotic expansions in 1/x are exact to double precision.
constexpr double kLarge = 25;

struct Orders {
  double zero, one;
};

// I of order 0 or 1, scaled by exp(-x), x >= 0: the power series 10.25.2 (its terms are positive)
// or the expansion 10.40.1.
double scaled_i(int order, double x) {
  if (x > kLarge) {
    if (std::isinf(x)) return 0;
    const double mu = 4.0 * order * order;
    double total = 1, term = 1;
    for (int k = 0; k < 40 && std::abs(term) > kEpsilon / 4; ++k) {
      const double odd = 2 * k + 1;
      total += term *= -(mu - odd * odd) / ((k + 1) * 8 * x);
    }
    return total / std::sqrt(2 * kPi * x);
  }
  const double quarter = x * x / 4;
  double term = order == 0 ? 1 : x / 2, total = term;
  for (int k = 1; term > kEpsilon / 8 * total; ++k) {
    total += term *= quarter / (static_cast<double>(k) * (k + order));
  }
  return total * std::exp(-x);
}

// exp(x) K_nu(x) for x >= 0.5, from the integral 10.32.9: the trapezoidal rule converges
// exponentially because the integrand falls off doubly exponentially; expansion 10.40.2 for large
// x.
double scaled_k(double nu, double x) {
  if (x > kLarge) {
    const double mu = 4 * nu * nu;
    double total = 1, term = 1;
    for (int k = 0; k < 40 && std::abs(term) > kEpsilon / 4; ++k) {
      const double odd = 2 * k + 1;
      total += term *= (mu - odd * odd) / ((k + 1) * 8 * x);
    }
    return total * std::sqrt(kPi / (2 * x));
  }
  const double step = kPi * kPi / (x + 40);
  double total = 0.5;
  for (double t = step;; t += step) {
    const double exponent = x * (std::cosh(t) - 1);
    if (exponent > 45) break;
    total += std::exp(-exponent) * std::cosh(nu * t);
  }
  return total * step;
}

// K_0 and K_1 for small x, 10.31.
Orders small_k(double x) {
  const double quarter = x * x / 4, log_half = std::log(x / 2) + std::numbers::egamma;
  double term = 1, harmonic = 0, k0_series = 0, i0_series = 0, i1_series = 0, k1_series = 0;
  for (int k = 0; k < 12; ++k) {
    const double next = harmonic + 1.0 / (k + 1);
    i0_series += term;
    k0_series += term * harmonic;
    i1_series += term / (k + 1);
    k1_series += term / (k + 1) * (harmonic + next);
    harmonic = next;
    term *= quarter / ((k + 1.0) * (k + 1.0));
  }
  return {k0_series - log_half * i0_series, 1 / x + x / 2 * (log_half * i1_series - k1_series / 2)};
}

double k_of(int order, double x, bool scaled) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNaN;
  if (x < 1) {
    const Orders k = small_k(x);
    return (order == 0 ? k.zero : k.one) * (scaled ? std::exp(x) : 1);
  }
  if (std::isinf(x)) return 0;
  return scaled_k(order, x) * (scaled ? 1 : std::exp(-x));
}

// Ai in [-9, 1] by Taylor steps of the differential equation y'' = x y from 0.
double airy_by_steps(double x) {
  double at = 0;
  double y = 0.355028053887817239, slope = -0.258819403792806798;  // 9.2.3, 9.2.4
  while (at != x) {
    const double h = std::abs(x - at) <= 0.5 ? x - at : std::copysign(0.5, x - at);
    double before = 0, c0 = y, c1 = slope, power = 1, next_y = 0, next_slope = 0;
    for (int n = 0; n < 24; ++n) {  // c0 is the coefficient of h^n, c1 that of h^(n+1)
      next_y += c0 * power;
      next_slope += (n + 1) * c1 * power;
      const double c2 = (at * c0 + before) / ((n + 1.0) * (n + 2.0));
      before = c0;
      c0 = c1;
      c1 = c2;
      power *= h;
    }
    y = next_y;
    slope = next_slope;
    at += h;
  }
  return y;
}

// Ai for x < -9, 9.7.9.
double airy_oscillating(double x) {
  const double zeta = 2.0 / 3 * -x * std::sqrt(-x);
  double even = 0, odd = 0, term = 1;
  for (int k = 0; k < 40 && std::abs(term) > kEpsilon / 4; ++k) {
    (k % 2 ? odd : even) += k % 4 < 2 ? term : -term;
    term *= (6 * k + 5.0) * (6 * k + 1.0) / ((k + 1) * 72 * zeta);
  }
  const double phase = zeta - kPi / 4;
  return (std::cos(phase) * even + std::sin(phase) * odd) / (std::sqrt(kPi) * std::pow(-x, 0.25));
}

}  // namespace

double bessel_j0(double x) { return std::isinf(x) ? kNaN : ::j0(x); }
double bessel_j1(double x) { return std::isinf(x) ? kNaN : ::j1(x); }
double bessel_y0(double x) { return x == 0 ? -kInfinity : x > 0 && x < kInfinity ? ::y0(x) : kNaN; }
double bessel_y1(double x) { return x == 0 ? -kInfinity : x > 0 && x < kInfinity ? ::y1(x) : kNaN; }

double i0(double x) { return scaled_i(0, std::abs(x)) * std::exp(std::abs(x)); }
double i0e(double x) { return scaled_i(0, std::abs(x)); }
double i1(double x) { return std::copysign(scaled_i(1, std::abs(x)), x) * std::exp(std::abs(x)); }
double i1e(double x) { return std::copysign(scaled_i(1, std::abs(x)), x); }

double modified_bessel_k0(double x) { return k_of(0, x, false); }
double modified_bessel_k1(double x) { return k_of(1, x, false); }
double scaled_modified_bessel_k0(double x) { return k_of(0, x, true); }
double scaled_modified_bessel_k1(double x) { return k_of(1, x, true); }

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  return std::abs(x) < 1e-4 ? 1 - x * x / 6 : std::sin(x) / x;
}

double airy_ai(double x) {
  if (!std::isfinite(x)) return kNaN;
  if (x > 104) return 0;
  if (x < -9) return airy_oscillating(x);
  if (x <= 1) return airy_by_steps(x);
  const double zeta = 2.0 / 3 * x * std::sqrt(x);  // 9.6.2
  return std::sqrt(x / 3) / kPi * scaled_k(1.0 / 3, zeta) * std::exp(-zeta);
}

}  // namespace torchlet::ops::special
