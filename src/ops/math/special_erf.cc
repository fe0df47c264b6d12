// Functions around the error function and the normal distribution.
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/math/special_math.h"

namespace torchlet::ops::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi;

// y > 0 with erfc(y) = p, for p < 0.5. Newton's method on log(erfc(y)), which is nearly a parabola.
double erfc_inverse(double p) {
  const double target = std::log(p);
  double y = std::sqrt(-target);
  for (int i = 0; i < 12; ++i) {
    const double scaled = erfcx(y);
    const double step = (std::log(scaled) - y * y - target) * scaled / kTwoOverSqrtPi;
    y += step;
    if (std::abs(step) < 1e-15 * y) break;
  }
  return y;
}

}  // namespace

double erfinv(double x) {
  if (std::abs(x) > 1 || std::isnan(x)) return kNaN;
  if (std::abs(x) == 1) return std::copysign(kInfinity, x);
  if (std::abs(x) > 0.5) return std::copysign(erfc_inverse(1 - std::abs(x)), x);
  double y = x / kTwoOverSqrtPi;
  for (int i = 0; i < 4; ++i) {  // Halley's method: the error is cubed each time
    const double step = (std::erf(y) - x) / (kTwoOverSqrtPi * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return y;
}

double erfcx(double x) {
  if (x < 10) return x < -26.7 ? kInfinity : std::exp(x * x) * std::erfc(x);
  double fraction = x;  // the continued fraction 7.9.1 from its 20th term up
  for (int k = 20; k > 0; --k) fraction = x + k / 2.0 / fraction;
  return std::numbers::inv_sqrtpi / fraction;
}

double log_ndtr(double x) {
  const double z = x / std::numbers::sqrt2;
  return x < -1 ? std::log(erfcx(-z) / 2) - z * z : std::log1p(-std::erfc(z) / 2);
}

double ndtri(double p) {
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (!(p > 0 && p < 1)) return kNaN;
  if (p < 0.25) return -std::numbers::sqrt2 * erfc_inverse(2 * p);
  if (p > 0.75) return std::numbers::sqrt2 * erfc_inverse(2 * (1 - p));
  return std::numbers::sqrt2 * erfinv(2 * p - 1);
}

}  // namespace torchlet::ops::special
