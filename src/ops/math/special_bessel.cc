// Bessel functions of orders 0 and 1, and Airy's Ai.
#include <math.h>  // j0 and its like are POSIX's

#include <cmath>
#include <iterator>
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

// K of one order. `series` is of e^x sqrt(x) K(x) in Chebyshev polynomials of 1 / x from 1 / 25
// to 1.
struct KOrder {
  double nu;
  double series[25];
};
constexpr KOrder kThird = {
    1.0 / 3, {2.4374509184679226,      -0.028815853341477012,   0.0020785097904358223,
              -0.0002406956610955535,  3.5879281813250484e-5,   -6.3016340103423946e-6,
              1.2452284229142809e-6,   -2.6926876514174475e-7,  6.2567420099809611e-8,
              -1.5424068575934097e-8,  3.9965250283887238e-9,   -1.0807399553308235e-9,
              3.03327923111827e-10,    -8.797050721489552e-11,  2.6268368978106971e-11,
              -8.0520798095461752e-12, 2.527423910920147e-12,   -8.1063107703404007e-13,
              2.6518848752478005e-13,  -8.8346555178328937e-14, 2.9931773789918122e-14,
              -1.0300532968694201e-14, 3.5967338630419641e-15,  -1.2731109967252005e-15,
              4.5642038418399792e-16}};
constexpr KOrder kZero = {
    0, {2.3837639827737185,      -0.050890319363562828,   0.003869698250853415,
        -0.00045693123310335586, 6.8816694431573569e-5,   -1.2164656151147598e-5,
        2.4145080953014641e-6,   -5.2383097504802164e-7,  1.2202643244206251e-7,
        -3.014278729068664e-8,   7.8232523853659036e-9,   -2.1185018332266233e-9,
        5.9529617922889222e-10,  -1.7282263024075841e-10, 5.1651545219746284e-11,
        -1.5845260367347446e-11, 4.9770602093209866e-12,  -1.5973134175684734e-12,
        5.2283795784065961e-13,  -1.7427094219098664e-13, 5.9070581386510085e-14,
        -2.0336912314881588e-14, 7.1040397577552734e-15,  -2.515487256567129e-15,
        9.021280135996834e-16}};
constexpr KOrder kOne = {1,
                         {2.9232724255335754,      0.18138122098061322,     -0.007512245133317685,
                          0.00073473327480224514,  -0.00010054436193562173, 1.6752763619038961e-5,
                          -3.192946193905562e-6,   6.7236922204025005e-7,   -1.5307375007959124e-7,
                          3.7126270240688213e-8,   -9.4924157472956002e-9,  2.5384919686692385e-9,
                          -7.0574971223053672e-10, 2.0301334423195563e-10,  -6.018953017898462e-11,
                          1.8334227383283481e-11,  -5.7227036080257692e-12, 1.8262789246430784e-12,
                          -5.9474673705529836e-13, 1.9732499337136685e-13,  -6.6603370677093336e-14,
                          2.2841793817099204e-14,  -7.9506734827900725e-15, 2.8060218022201252e-15,
                          -1.0032541978560802e-15}};

// exp(x) K(x) for x >= 1: the series by C. W. Clenshaw's method, or expansion 10.40.2.
double scaled_k(const KOrder& order, double x) {
  if (x > kLarge) {
    const double mu = 4 * order.nu * order.nu;
    double total = 1, term = 1;
    for (int k = 0; k < 40 && std::abs(term) > kEpsilon / 4; ++k) {
      const double odd = 2 * k + 1;
      total += term *= (mu - odd * odd) / ((k + 1) * 8 * x);
    }
    return total * std::sqrt(kPi / (2 * x));
  }
  const double twice = (2 / x - (1 + 1 / kLarge)) / (1 - 1 / kLarge) * 2;
  double here = 0, after = 0;
  for (size_t k = std::size(order.series) - 1; k > 0; --k) {
    const double next = twice * here - after + order.series[k];
    after = here;
    here = next;
  }
  return ((twice * here + order.series[0]) / 2 - after) / std::sqrt(x);
}

// K_0 and K_1 for small x, 10.31.
Orders small_k(double x) {
  const double quarter = x * x / 4, log_half = std::log(x / 2) + std::numbers::egamma;
  double term = 1, harmonic = 0, k0_series = 0, i0_series = 0, i1_series = 0, k1_series = 0;
  for (int k = 0; k < 10; ++k) {
    const double inverse = 1.0 / (k + 1), next = harmonic + inverse;
    i0_series += term;
    k0_series += term * harmonic;
    i1_series += term * inverse;
    k1_series += term * inverse * (harmonic + next);
    harmonic = next;
    term *= quarter * inverse * inverse;
  }
  return {k0_series - log_half * i0_series, 1 / x + x / 2 * (log_half * i1_series - k1_series / 2)};
}

double k_of(const KOrder& order, double x, bool scaled) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNaN;
  if (x < 1) {
    const Orders k = small_k(x);
    return (order.nu == 0 ? k.zero : k.one) * (scaled ? std::exp(x) : 1);
  }
  if (std::isinf(x)) return 0;
  return scaled_k(order, x) * (scaled ? 1 : std::exp(-x));
}

constexpr double kAiry = 0.355028053887817239, kAirySlope = -0.258819403792806798;  // 9.2.3, 9.2.4

// Ai near 0, 9.4.1.
double airy_series(double x) {
  const double cube = x * x * x;
  double f = kAiry, g = kAirySlope * x, total = f + g;
  for (int k = 2; k < 60 && std::abs(f) + std::abs(g) > kEpsilon / 64; k += 3) {
    f *= cube / (k * (k + 1));
    g *= cube / ((k + 1) * (k + 2));
    total += f + g;
  }
  return total;
}

// Ai in [-9, 0] by Taylor steps of the differential equation y'' = x y from 0.
double airy_by_steps(double x) {
  double at = 0;
  double y = kAiry, slope = kAirySlope;
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

double modified_bessel_k0(double x) { return k_of(kZero, x, false); }
double modified_bessel_k1(double x) { return k_of(kOne, x, false); }
double scaled_modified_bessel_k0(double x) { return k_of(kZero, x, true); }
double scaled_modified_bessel_k1(double x) { return k_of(kOne, x, true); }

double airy_ai(double x) {
  if (!std::isfinite(x)) return kNaN;
  if (x > 104) return 0;
  if (x < -9) return airy_oscillating(x);
  if (std::abs(x) <= 2) return airy_series(x);
  if (x < 0) return airy_by_steps(x);
  const double zeta = 2.0 / 3 * x * std::sqrt(x);  // 9.6.2
  return std::sqrt(x / 3) / kPi * scaled_k(kThird, zeta) * std::exp(-zeta);
}

}  // namespace torchlet::ops::special
