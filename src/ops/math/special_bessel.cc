// Bessel functions of orders 0 and 1, and Airy's Ai.
#include <math.h>  // j0 and its like are POSIX's

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/math/special_math.h"
#include "ops/math/special_series.h"

namespace torchlet::ops::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr float kTwoOverPi = 2 * std::numbers::inv_pi_v<float>;
constexpr double kPi = std::numbers::pi;

// exp(-x) I_0(x) for x in [0, 8], in x / 4 - 1; above, times sqrt(x), in 16 / x - 1.
constexpr double kI0Near[] = {
    0.33839763720473803,     -0.3046826723431984,     0.17162090152220877,
    -0.094901097048047639,   0.049305284239670712,    -0.023737414805899471,
    0.010546460394594998,    -0.0043243099950505759,  0.0016394756169413357,
    -0.00057637557453858236, 0.00018850288509584165,  -5.754195010082104e-05,
    1.6448448070728896e-05,  -4.4167383584587505e-06, 1.1173875391201037e-06,
    -2.6707938539406119e-07, 6.0469950225419186e-08,  -1.300025009986248e-08,
    2.6598237246823866e-09,  -5.1897956016352627e-10, 9.675809035373237e-11,
    -1.7268262914415559e-11, 2.9550526631296399e-12,  -4.856446783111929e-13,
    7.6761854986049361e-14,  -1.1685332877993451e-14, 1.7153912855551331e-15,
    -2.4312798465479549e-16, 3.3307945188222384e-17};
constexpr double kI0Far[] = {
    0.40224520550705439,     0.0033691164782556943,   6.8897583469168245e-05,
    2.8913705208347567e-06,  2.0489185894690638e-07,  2.266668990498178e-08,
    3.3962320257083865e-09,  4.9406023882249701e-10,  1.1889147107846439e-11,
    -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12,
    7.180124451383666e-13,   3.8527783827421426e-13,  1.54008621752141e-14,
    -4.1505693472872222e-14, -9.5548466988283073e-15, 3.8116806693526224e-15,
    1.7725601330565263e-15,  -3.425485619677219e-16,  -2.8276239805165836e-16,
    3.4612228676974612e-17,  4.4656214202967598e-17,  -4.8305044859441819e-18};
// The same of I_1, at first of exp(-x) I_1(x) / x.
constexpr double kI1Near[] = {
    0.12629359322181682,     -0.17641651835783406,    0.10264365868984709,
    -0.052945981208094989,   0.024726449030626516,    -0.010564084894626197,
    0.0041564229443128882,   -0.0015135724506312532,  0.00051228595616857576,
    -0.00016176081582589674, 4.7815651075500542e-05,  -1.3273163656039436e-05,
    3.4702513081376785e-06,  -8.5687202646954547e-07, 2.0032947535521353e-07,
    -4.4450591287963281e-08, 9.3815373864957726e-09,  -1.8872497517228294e-09,
    3.6255902815521172e-10,  -6.6634897235020271e-11, 1.1736186298890901e-11,
    -1.9839743977649436e-12, 3.2237933659455748e-13,  -5.0421855047279118e-14,
    7.6006842947354077e-15,  -1.1055969477353862e-15, 1.5536319577362005e-16,
    -2.111421214358166e-17};
constexpr double kI1Far[] = {
    0.38928811750914005,     -0.0097610974913614687,  -0.00011058893876262371,
    -3.8825648088776906e-06, -2.5122362378702088e-07, -2.6314688468895196e-08,
    -3.835380385964237e-09,  -5.5897434621965838e-10, -1.8974958123505413e-11,
    3.2526035830154884e-11,  1.4125807436613782e-11,  2.0356285441470896e-12,
    -7.1985517762459084e-13, -4.0835511110921974e-13, -2.1015418427726643e-14,
    4.272440016711951e-14,   1.0420276984128802e-14,  -3.8144030724370075e-15,
    -1.8803547755107825e-15, 3.3082023109209285e-16,  2.9626289976459501e-16,
    -3.2095259219934238e-17, -4.6503053684893586e-17, 4.4143483230717077e-18};
// For x in [0, 2], in x^2 / 2 - 1: I_0(x), and K_0(x) + log(x / 2) I_0(x). Above, in 4 / x - 1:
// exp(x) sqrt(x) K_0(x).
constexpr double kI0Small[] = {
    1.6029228068079633,     0.63880962565117705,    0.036854859694361759,   0.00098287812725147993,
    1.4983654208927293e-05, 1.4738449008423848e-07, 1.0114797900674826e-09, 5.1149979020112795e-12,
    1.984280622680562e-14,  6.0905165060589554e-17};
constexpr double kK0Small[] = {
    -0.26766369661695139,   0.3442898999246285,     0.035979936515361501,   0.001264615411446926,
    2.2862121031194519e-05, 2.5347910790261494e-07, 1.9045163772202091e-09, 1.0349695257633625e-11,
    4.2598161427910826e-14, 1.3744654358807508e-16};
constexpr double kK0Far[] = {
    1.2201515410329777,      -0.031448101311964502,   0.0015698838857300533,
    -0.00012849549581627802, 1.39498137188765e-05,    -1.8317555227191195e-06,
    2.7668136394450149e-07,  -4.6604898976879478e-08, 8.5740340174142253e-09,
    -1.6975345093890614e-09, 3.5773972814003283e-10,  -7.9574892444773965e-11,
    1.8559491149549264e-11,  -4.5145978833745193e-12, 1.1403405882073441e-12,
    -2.9800969231481784e-13, 8.0328907750683746e-14,  -2.2275133267462965e-14,
    6.3400764762766461e-15,  -1.8485933779209071e-15, 5.5120559994043335e-16,
    -1.6782311257549006e-16, 5.2103917776435543e-17};
// The same of order 1: I_1(x) / x, and x (K_1(x) - log(x / 2) I_1(x)).
constexpr double kI1Small[] = {
    0.64175899699118744,    0.14753932014919341,    0.0058987426800207882,
    0.00011988137174638708, 1.4739165119093128e-06, 1.2138074968740922e-08,
    7.1611066927992791e-11, 3.1748793113101202e-13, 1.0962998348773076e-15};
constexpr double kK1Small[] = {0.76265011366947388,     -0.35315596077654487,
                               -0.12261118082265715,    -0.0069757238596398641,
                               -0.0001730288957513052,  -2.4334061415659684e-06,
                               -2.213387630734726e-08,  -1.4114883926335278e-10,
                               -6.6669016941993295e-13, -2.427449850519366e-15};
constexpr double kK1Far[] = {
    1.3603130952422213,      0.10392373657681724,     -0.0028578168596227792,
    0.00019521551847135162,  -1.936197974166083e-05,  2.406484947837217e-06,
    -3.5019606030878126e-07, 5.7410841254500495e-08,  -1.0345762465678097e-08,
    2.0150497551970347e-09,  -4.1903547593419254e-10, 9.2183151876053146e-11,
    -2.1299678384277909e-11, 5.1396396734823432e-12,  -1.2891739609498229e-12,
    3.3484196660522431e-13,  -8.9767051820101463e-14, 2.4771544242195988e-14,
    -7.0198370892147685e-15, 2.038703166239861e-15,   -6.0570472706430177e-16,
    1.8380935752430455e-16,  -5.6894628491936484e-17};
// Ai in [-9, 2.25]; above, exp(zeta) x^(1/4) Ai(x) with zeta = 2/3 x^(3/2), in 4.5 / zeta - 1.
constexpr double kAiryNear[] = {
    0.048911798463825248,    0.13753127461972639,     -0.076030838632424172,
    -0.082132555629403206,   -0.11539808932714735,    0.036669878048294358,
    0.12298034494955157,     0.010812598228530092,    -0.012305929786295165,
    -0.16385550949626071,    0.11942349154485048,     0.079970701028106189,
    -0.12502472000148224,    0.024609598391273128,    0.041108070287153929,
    -0.027950077134450864,   -0.00063349410698173593, 0.0079988454612016334,
    -0.0030303520619232895,  -0.00062852144038661232, 0.00084676798242115377,
    -0.00018266193620607613, -8.3023663084313458e-05, 5.6588772812320588e-05,
    -5.8629679658184813e-06, -6.0150351680566628e-06, 2.5876837189555309e-06,
    -2.8920994539606653e-08, -2.9039514221704432e-07, 8.4846772960325919e-08,
    6.7533930925780977e-09,  -1.0164390854548195e-08, 2.040760447466754e-09,
    3.8266070608708768e-10,  -2.7087254467525709e-10, 3.5806311151781678e-11,
    1.2510055803211888e-11,  -5.6755465545786664e-12, 4.2710801518740055e-13,
    2.9581112930308551e-13,  -9.5592076623388537e-14, 2.2302225996408889e-15,
    5.4601477273711871e-15,  -1.3135421315922243e-15, -3.7883061020886852e-17,
    8.1821160940079925e-17,  -1.4845548819794938e-17, -1.2941463664225671e-18};
constexpr double kAiryFar[] = {
    0.27832423230984271,     -0.0036014563227020771,  0.00015621626854896937,
    -1.1569905760293358e-05, 1.1533085668166037e-06,  -1.4018722717545701e-07,
    1.9708784092236569e-08,  -3.1025585069950128e-09, 5.351586715921709e-10,
    -9.9604278665887603e-11, 1.9777189004766752e-11,  -4.1529301767499651e-12,
    9.1593739210130115e-13,  -2.1100733188961196e-13, 5.054546340897925e-14,
    -1.2542429828330042e-14, 3.2137668549122498e-15,  -8.4801086419806273e-16,
    2.2989364566008465e-16,  -6.3901030104697102e-17, 1.817901148601681e-17};
// For floats, J_0(x) and J_1(x) / x for |x| <= 5, in x^2 / 12.5 - 1. With L = 2 / pi log(x):
// Y_0(x) - L J_0(x) and (Y_1(x) - L J_1(x) + 2 / (pi x)) / x.
constexpr float kJ0Near[] = {0.00234098983f,  -0.494205093f,    0.397937367f,    -0.0938314588f,
                             0.0108875316f,   -0.000760626766f, 3.56948365e-05f, -1.20606971e-06f,
                             3.07903857e-08f, -6.15440554e-10f};
constexpr float kJ1Near[] = {0.124721768f,   -0.268684568f,    0.0912979066f,   -0.0140046535f,
                             0.00121970619f, -6.86129411e-05f, 2.70336907e-06f, -7.88550693e-08f};

constexpr float kY0Near[] = {0.206052576f,     -0.130175224f,   -0.291894721f,
                             0.10268288f,      -0.0142791599f,  0.00111646299f,
                             -5.67752511e-05f, 2.04067037e-06f, -5.47643103e-08f};
constexpr float kY1Near[] = {0.0531074451f,    0.141894509f,    -0.0883432887f,
                             0.0171111099f,    -0.00170578526f, 0.00010525753f,
                             -4.44507527e-06f, 1.36992777e-07f, -3.22288377e-09f};

// exp(-|x|) I(x) of order 0 or 1; near: |x| <= 8.
template <int kOrder, typename T>
[[gnu::always_inline]] inline T scaled_i_near(T x) {
  const T t = std::abs(x) / T(4) - T(1);
  return kOrder == 0 ? series<kI0Near>(t) : x * series<kI1Near>(t);
}
template <int kOrder, typename T>
T scaled_i(T x) {
  const T magnitude = std::abs(x);
  if (!(magnitude > T(8))) return scaled_i_near<kOrder>(x);
  const T t = T(16) / magnitude - T(1);
  const T far = (kOrder == 0 ? series<kI0Far>(t) : series<kI1Far>(t)) / std::sqrt(magnitude);
  return kOrder == 0 ? far : std::copysign(far, x);
}
template <int kOrder>
void scaled_i(const float* x, float* y, int64_t count) {
  each_near(
      x, y, count, [](float v) { return !(std::abs(v) > 8); },
      [](float v) { return scaled_i_near<kOrder>(v); }, scaled_i<kOrder, float>);
}

template <int kOrder>
double i_of(double x) {
  return scaled_i<kOrder>(x) * std::exp(std::abs(x));
}
template <int kOrder>
void i_of(const float* x, float* y, int64_t count) {
  scaled_i<kOrder>(x, y, count);
  for (int64_t i = 0; i < count; ++i) y[i] *= std::exp(std::abs(x[i]));
}

// K of order 0 or 1, possibly times exp(x).
template <int kOrder, bool kScaled, typename T>
T k_of(T x) {
  if (x == T(0)) return std::numeric_limits<T>::infinity();
  if (!(x > T(0))) return std::numeric_limits<T>::quiet_NaN();
  if (x <= T(2)) {
    const T t = x * x / T(2) - T(1), log_half = std::log(x / T(2));
    const T k = kOrder == 0 ? series<kK0Small>(t) - log_half * series<kI0Small>(t)
                            : series<kK1Small>(t) / x + log_half * x * series<kI1Small>(t);
    return kScaled ? k * std::exp(x) : k;
  }
  const T t = T(4) / x - T(1);
  const T far = (kOrder == 0 ? series<kK0Far>(t) : series<kK1Far>(t)) / std::sqrt(x);
  return kScaled ? far : far * std::exp(-x);
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

// Ai in double to the precision of T, since the series cancels for floats; near: x in [-9, 2.25].
bool is_airy_near(double x) { return x >= -9 && x <= 2.25; }
template <typename T>
[[gnu::always_inline]] inline double airy_near(double x) {
  return series<kAiryNear, T>((x + 9) / 5.625 - 1);
}
double airy_far(double x) {
  if (!std::isfinite(x)) return kNaN;
  if (x < 0) return airy_oscillating(x);
  if (x > 104) return 0;
  const double root = std::sqrt(x), zeta = 2.0 / 3 * x * root;
  return series<kAiryFar>(4.5 / zeta - 1) / std::sqrt(root) * std::exp(-zeta);
}

// The functions of the C library are slow; near 0, where most arguments are, floats take series.
constexpr auto is_j_near = [](float x) { return std::abs(x) <= 5; };
constexpr auto j0_near = [](float x) { return series<kJ0Near>(x * x / 12.5f - 1.0f); };
constexpr auto j1_near = [](float x) { return x * series<kJ1Near>(x * x / 12.5f - 1.0f); };

template <typename Near>
void bessel_y(const float* x, float* y, int64_t count, double (*f)(double), Near near) {
  with_log(
      x, y, count, [](float v) { return v; }, near);
  for (int64_t i = 0; i < count; ++i) {
    if (!(x[i] > 0 && x[i] <= 5)) y[i] = static_cast<float>(f(x[i]));
  }
}

template <typename T>
T sinc(T x) {
  return x == T(0) ? T(1) : std::isinf(x) ? T(0) : std::sin(x) / x;
}

}  // namespace

double bessel_j0(double x) { return std::isinf(x) ? kNaN : ::j0(x); }
double bessel_j1(double x) { return std::isinf(x) ? kNaN : ::j1(x); }
double bessel_y0(double x) { return x == 0 ? -kInfinity : x > 0 && x < kInfinity ? ::y0(x) : kNaN; }
double bessel_y1(double x) { return x == 0 ? -kInfinity : x > 0 && x < kInfinity ? ::y1(x) : kNaN; }

void bessel_j0(const float* x, float* y, int64_t count) {
  each_near(x, y, count, is_j_near, j0_near, [](float v) { return bessel_j0(double{v}); });
}
void bessel_j1(const float* x, float* y, int64_t count) {
  each_near(x, y, count, is_j_near, j1_near, [](float v) { return bessel_j1(double{v}); });
}
void bessel_y0(const float* x, float* y, int64_t count) {
  bessel_y(x, y, count, bessel_y0, [](float v, float log) {
    return kTwoOverPi * log * j0_near(v) + series<kY0Near>(v * v / 12.5f - 1.0f);
  });
}
void bessel_y1(const float* x, float* y, int64_t count) {
  bessel_y(x, y, count, bessel_y1, [](float v, float log) {
    return kTwoOverPi * (log * j1_near(v) - 1.0f / v) + v * series<kY1Near>(v * v / 12.5f - 1.0f);
  });
}

double i0(double x) { return i_of<0>(x); }
double i0e(double x) { return scaled_i<0>(x); }
double i1(double x) { return i_of<1>(x); }
double i1e(double x) { return scaled_i<1>(x); }

void i0e(const float* x, float* y, int64_t count) { scaled_i<0>(x, y, count); }
void i1e(const float* x, float* y, int64_t count) { scaled_i<1>(x, y, count); }
void i0(const float* x, float* y, int64_t count) { i_of<0>(x, y, count); }
void i1(const float* x, float* y, int64_t count) { i_of<1>(x, y, count); }

#define TORCHLET_K(name, order, scaled)                    \
  double name(double x) { return k_of<order, scaled>(x); } \
  void name(const float* x, float* y, int64_t count) {     \
    each(x, y, count, k_of<order, scaled, float>);         \
  }
TORCHLET_K(modified_bessel_k0, 0, false)
TORCHLET_K(modified_bessel_k1, 1, false)
TORCHLET_K(scaled_modified_bessel_k0, 0, true)
TORCHLET_K(scaled_modified_bessel_k1, 1, true)
#undef TORCHLET_K

double spherical_bessel_j0(double x) { return sinc(x); }
void spherical_bessel_j0(const float* x, float* y, int64_t count) {
  each(x, y, count, sinc<float>);
}

double airy_ai(double x) { return is_airy_near(x) ? airy_near<double>(x) : airy_far(x); }
void airy_ai(const float* x, float* y, int64_t count) {
  each_near(
      x, y, count, is_airy_near, [](float v) { return static_cast<float>(airy_near<float>(v)); },
      airy_far);
}

}  // namespace torchlet::ops::special
