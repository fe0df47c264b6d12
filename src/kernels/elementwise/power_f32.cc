// Powers of floats by way of double: 2^(y log2 x), whose errors vanish when it is rounded. The
// polynomials are fits at Chebyshev's nodes.
#if defined(__arm__)
#define HWY_COMPILE_ONLY_EMU128  // 32-bit NEON has no vectors of doubles
#endif
#define TORCHLET_NO_AVX3  // of the reference alone
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/power_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "kernels/elementwise/elementwise.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // nothing to win
void powers(const float* x, const float* y, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = std::pow(x[i], y[i]);
}
#else

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;
constexpr hn::Half<D> kHalf;
constexpr hn::Rebind<double, hn::Half<D> > kWide;
using VWide = hn::Vec<hn::Rebind<double, hn::Half<D> > >;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr float kInfinity = std::numeric_limits<float>::infinity();

HWY_INLINE V set(float x) { return hn::Set(d, x); }
HWY_INLINE VWide wide(double x) { return hn::Set(kWide, x); }

// log2 of |x|, 2^-37 of it; x is a float.
HWY_INLINE VWide log2_of_magnitude(VWide x) {
  // log2((1 + s) / (1 - s)) / s as a polynomial in s^2, for a quotient from sqrt(1/2) to sqrt(2)
  static constexpr double kSeries[] = {0x1.71547652bed16p+1, 0x1.ec709d13bc23cp-1,
                                       0x1.27777f49a359dp-1, 0x1.a58dcd03e9b27p-2,
                                       0x1.5ce3c0d1247c3p-2};
  constexpr uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd;  // its bits
  constexpr uint64_t kTwo = uint64_t{1} << 62;          // that of 2: an exponent of 1024
  constexpr uint64_t kShift = uint64_t{0x433} << 52;    // the bits of 2^52
  const hn::RebindToUnsigned<decltype(kWide)> du;
  const VWide magnitude = hn::Abs(x);
  // magnitude = 2^k m, of which `biased` holds k + 1024 above its 52 lowest bits.
  const auto bits = hn::BitCast(du, magnitude);
  const auto biased = hn::Add(bits, hn::Set(du, kTwo - kRootOfHalf));
  const auto exponent = hn::ShiftRight<52>(biased);
  const VWide k =
      hn::Sub(hn::BitCast(kWide, hn::Or(exponent, hn::Set(du, kShift))), wide(0x1p52 + 1024));
  const VWide m =
      hn::BitCast(kWide, hn::Add(hn::Sub(bits, hn::ShiftLeft<52>(exponent)), hn::Set(du, kTwo)));
  const VWide s = hn::Div(hn::Sub(m, wide(1)), hn::Add(m, wide(1)));
  const VWide log = hn::MulAdd(s, polynomial(kWide, hn::Mul(s, s), kSeries), k);
  const VWide special = hn::IfThenElse(hn::Eq(magnitude, hn::Zero(kWide)),
                                       wide(-static_cast<double>(kInfinity)), magnitude);
  const auto is_usual =
      hn::And(hn::Gt(magnitude, hn::Zero(kWide)), hn::Lt(magnitude, wide(kInfinity)));
  return hn::IfThenElse(is_usual, log, special);
}

// 2^x, 2^-28 of it, from where floats are 0 to where they are infinite; anything of NaN.
HWY_INLINE VWide exp2_of(VWide x) {
  static constexpr double kSeries[] = {
      0x1.0000000000001p+0, 0x1.62e430d034714p-1,  0x1.ebfbe045f4c57p-3, 0x1.c6aecc6699bd5p-5,
      0x1.3b2a1b715c443p-7, 0x1.5f48c0503b856p-10, 0x1.443fffc3b9109p-13};
  const hn::RebindToUnsigned<decltype(kWide)> du;
  const VWide shift = wide(0x1.8p52);  // rounds what it is added to, whose lowest bits that is then
  const VWide some = clamp(x, wide(-160), wide(140));
  const VWide shifted = hn::Add(some, shift);
  const VWide rest = hn::Sub(some, hn::Sub(shifted, shift));
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(du, shifted));
  const auto bits = hn::BitCast(du, polynomial(kWide, rest, kSeries));
  return hn::BitCast(kWide, hn::Add(bits, exponent));
}

HWY_INLINE hn::Vec<hn::Half<D> > magnitude_of_power(hn::Vec<hn::Half<D> > x,
                                                    hn::Vec<hn::Half<D> > y) {
  const VWide log = log2_of_magnitude(hn::PromoteTo(kWide, x));
  return hn::DemoteTo(kHalf, exp2_of(hn::Mul(log, hn::PromoteTo(kWide, y))));
}

// As the C library's pow() for special numbers.
HWY_INLINE V power_of(V x, V y) {
  const V one = set(1), half = hn::Mul(y, set(0.5f));
  V power = hn::Combine(d, magnitude_of_power(hn::UpperHalf(kHalf, x), hn::UpperHalf(kHalf, y)),
                        magnitude_of_power(hn::LowerHalf(kHalf, x), hn::LowerHalf(kHalf, y)));
  power = hn::IfThenElse(hn::Eq(hn::Abs(x), one), one, power);  // to infinity, too
  const auto is_whole = hn::Eq(hn::Trunc(y), y);
  const auto is_odd = hn::And(is_whole, hn::Ne(hn::Trunc(half), half));
  power = hn::Or(power, hn::IfThenElseZero(is_odd, hn::And(x, set(-0.0f))));
  const auto is_finite_below = hn::And(hn::Lt(x, hn::Zero(d)), hn::Gt(x, set(-kInfinity)));
  const auto is_nan =
      hn::Or(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::And(is_finite_below, hn::Not(is_whole)));
  power = hn::IfThenElse(is_nan, set(std::numeric_limits<float>::quiet_NaN()), power);
  return hn::IfThenElse(hn::Or(hn::Eq(x, one), hn::Eq(y, hn::Zero(d))), one, power);
}

void powers(const float* x, const float* y, float* to, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    store_first(power_of(load_first(d, x + i, n - i), load_first(d, y + i, n - i)), d, to + i,
                n - i);
  }
}
#endif

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(powers);

void pow_f32(const float* x, const float* y, float* to, int64_t n) {
  HWY_DYNAMIC_DISPATCH(powers)(x, y, to, n);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
