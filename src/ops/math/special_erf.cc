// Functions around the error function and the normal distribution.
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/elementwise/elementwise.h"
#include "ops/engines/elementwise.h"
#include "ops/math/special_math.h"
#include "ops/math/special_series.h"

namespace torchlet::ops::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi;

// (1 + 2 x) erfcx(x) for x >= 0, in 1 - 7.5 / (x + 3.75).
constexpr double kErfcx[] = {
    1.1775789345674017,      -0.0045900545806464776,  -0.084249133366517917,
    0.059209939998191893,    -0.026658668435305753,   0.0090749976707052652,
    -0.0024131635404176081,  0.00049077583652580863,  -6.916973302501207e-05,
    4.1390279860730102e-06,  7.7403830661984903e-07,  -2.1886401049234397e-07,
    1.076499946567091e-08,   4.5219598112182866e-09,  -7.7544002088313509e-10,
    -6.3180883408866841e-11, 2.8687950109306699e-11,  1.9455868545777347e-13,
    -9.6546967484334393e-13, 3.2525481481487401e-14,  3.3478119482868056e-14,
    -1.864562880419313e-15,  -1.2507950530688648e-15, 7.4182352566240441e-17,
    5.068148904796111e-17};
// erfinv(x) / x for |x| <= 0.5, in 8 x^2 - 1.
constexpr double kErfinv[] = {
    0.91872561173501444,    0.03375857560006542,    0.0013206742781165998,  6.404076996787596e-05,
    3.4412121504496271e-06, 1.9639319431763806e-07, 1.1660992270753084e-08, 7.1203870367227366e-10,
    4.4393783156625655e-11, 2.8127938621948305e-12, 1.8051946908097276e-13, 1.1707093852711806e-14,
    7.6584930224401329e-16, 5.046812059932414e-17};
// y / s with log(erfc(y)) = -s^2, in what erfc_inverse() says, to the precision of float.
constexpr double kErfcInverse[] = {
    0.81367612101586118,     -0.20784901055642432,    -0.034816095783127332,
    0.0011775055007974488,   0.00059864469079283879,  8.5192530627354996e-05,
    -1.1293499329503455e-05, -1.8371848193197156e-06, -5.0127438903329382e-07,
    1.265099429474722e-07,   -9.1173965315024843e-09};

template <typename T>
[[gnu::always_inline]] inline T erfcx_of_positive(T x) {
  return series<kErfcx>(T(1) - T(7.5) / (x + T(3.75))) * T(0.5) / (x + T(0.5));
}

template <typename T>
[[gnu::always_inline]] inline T erfinv_near(T x) {
  return x * series<kErfinv>(T(8) * x * x - T(1));
}

// y > 0 with erfc(y) = p, for p <= 0.5, from log(p): as floats may have it.
template <typename T>
[[gnu::always_inline]] inline T erfc_inverse(T log_p) {
  const T s = std::sqrt(-log_p);
  return s * series<kErfcInverse, float>(T(4.3821150362751775) / (s + T(1)) - T(1.391260271095998));
}

// The same, made exact by Newton's method on log(erfc(y)), which is nearly a parabola.
double erfc_inverse_of(double p) {
  const double target = std::log(p);
  double y = erfc_inverse(target);
  for (int i = 0; i < 5; ++i) {
    const double scaled = erfcx(y);
    const double step = (std::log(scaled) - y * y - target) * scaled / kTwoOverSqrtPi;
    y += step;
    if (std::abs(step) < 1e-9 * y) break;  // the next one is its square
  }
  return y;
}

// erfinv(x) where log_rest is that of 1 - |x|.
[[gnu::always_inline]] inline float erfinv_by_log(float x, float log_rest) {
  const float far = std::copysign(erfc_inverse(log_rest), x);
  return choose(std::abs(x) > 0.5f, far, erfinv_near(x));
}

}  // namespace

double erfinv(double x) {
  if (std::abs(x) > 1 || std::isnan(x)) return kNaN;
  if (std::abs(x) == 1) return std::copysign(kInfinity, x);
  if (std::abs(x) > 0.5) return std::copysign(erfc_inverse_of(1 - std::abs(x)), x);
  return erfinv_near(x);
}
void erfinv(const float* x, float* y, int64_t count) {
  with_log(
      x, y, count, [](float v) { return 1 - std::abs(v); },
      [](float v, float log_rest) { return erfinv_by_log(v, log_rest); });
}

double erfcx(double x) {
  return x < 0 ? 2 * std::exp(x * x) - erfcx_of_positive(-x) : erfcx_of_positive(x);
}
void erfcx(const float* x, float* y, int64_t count) {
  each_in_steps(x, y, count, [](float v) { return erfcx_of_positive(std::abs(v)); });
  for (int64_t i = 0; i < count; ++i) {
    if (x[i] < 0) y[i] = static_cast<float>(2 * std::exp(static_cast<double>(x[i]) * x[i]) - y[i]);
  }
}

double ndtr(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
void ndtr(const float* x, float* y, int64_t count) {
  each_in_steps(x, y, count,
                [](float v) { return v * static_cast<float>(-std::numbers::sqrt2 / 2); });
  kernels::erfc_f32(y, y, count, 0, 0);
  each_in_steps(y, y, count, [](float v) { return v / 2; });
}

double log_ndtr(double x) {
  const double z = x / std::numbers::sqrt2;
  return x < -1 ? std::log(erfcx(-z) / 2) - z * z : std::log1p(-std::erfc(z) / 2);
}

double ndtri(double p) {
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (!(p > 0 && p < 1)) return kNaN;
  if (p < 0.25) return -std::numbers::sqrt2 * erfc_inverse_of(2 * p);
  if (p > 0.75) return std::numbers::sqrt2 * erfc_inverse_of(2 * (1 - p));
  return std::numbers::sqrt2 * erfinv(2 * p - 1);
}

void ndtri(const float* x, float* y, int64_t count) {
  with_log(
      x, y, count, [](float p) { return 2 * choose(p < 0.5f, p, 1 - p); },
      [](float p, float log_rest) {
        return static_cast<float>(std::numbers::sqrt2) * erfinv_by_log(2 * p - 1, log_rest);
      });
}

}  // namespace torchlet::ops::special
