// Elementary functions of float vectors. The polynomials are minimax fits (Remez) made for these
// ranges; the errors stated are the largest that elementwise_test.cc finds, in units in the last
// place.

#if defined(TORCHLET_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_MATH_INL_H_
#undef TORCHLET_KERNELS_MATH_INL_H_
#else
#define TORCHLET_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c[0] + c[1] x + c[2] x^2 + ...
template <class D, class V, size_t kCount>
HWY_INLINE V polynomial(D d, V x, const hn::TFromD<D> (&c)[kCount]) {
  V sum = hn::Set(d, c[kCount - 1]);
  HWY_UNROLL(8)
  for (size_t i = kCount - 1; i > 0; --i) sum = hn::MulAdd(sum, x, hn::Set(d, c[i - 1]));
  return sum;
}

// x^y for x = 2 and a whole y in [-126, 127].
template <class D, class VI>
HWY_INLINE hn::Vec<D> power_of_two(D d, VI y) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(y, hn::Set(di, 127))));
}

// With AVX-512, x 2^n is one instruction, also when 2^n itself is no normal number.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr bool kScales = true;
HWY_INLINE hn::Vec512<float> scaled(hn::Vec512<float> x, hn::Vec512<float> n) {
  return hn::Vec512<float>{_mm512_scalef_ps(x.raw, n.raw)};
}
HWY_INLINE hn::Vec256<float> scaled(hn::Vec256<float> x, hn::Vec256<float> n) {
  return hn::Vec256<float>{_mm256_scalef_ps(x.raw, n.raw)};
}
template <size_t kLanes>
HWY_INLINE hn::Vec128<float, kLanes> scaled(hn::Vec128<float, kLanes> x,
                                            hn::Vec128<float, kLanes> n) {
  return hn::Vec128<float, kLanes>{_mm_scalef_ps(x.raw, n.raw)};
}
#else
constexpr bool kScales = false;
#endif

// A whole number as an integer, where it is one of 32 bits; ConvertTo() looks after others on x86.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
#if HWY_TARGET == HWY_AVX2
HWY_INLINE hn::Vec256<int32_t> whole_number(hn::Vec256<float> n) {
  return hn::Vec256<int32_t>{_mm256_cvtps_epi32(n.raw)};
}
#endif
template <size_t kLanes>
HWY_INLINE hn::Vec128<int32_t, kLanes> whole_number(hn::Vec128<float, kLanes> n) {
  return hn::Vec128<int32_t, kLanes>{_mm_cvtps_epi32(n.raw)};
}
#else
template <class V>
HWY_INLINE auto whole_number(V n) {
  return hn::ConvertTo(hn::RebindToSigned<hn::DFromV<V> >(), n);
}
#endif

constexpr float kLog2E = 1.44269504f;

// x = n ln 2 + r, |r| <= ln 2 / 2, and e^r.
template <class D, class V>
HWY_INLINE V reduced_exp(D d, V x, V& n) {
  constexpr float kLn2High = 0.693359375f;  // few bits, so that n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  static constexpr float kTail[] = {5.000000000e-01f, 1.666666716e-01f, 4.166626930e-02f,
                                    8.333263919e-03f, 1.394617604e-03f, 1.991854660e-04f};
  n = hn::Round(hn::Mul(x, hn::Set(d, kLog2E)));
  V r = hn::NegMulAdd(n, hn::Set(d, kLn2High), x);
  r = hn::NegMulAdd(n, hn::Set(d, kLn2Low), r);
  return hn::Add(hn::MulAdd(hn::Mul(r, r), polynomial(d, r, kTail), r), hn::Set(d, 1.0f));
}

// e^x, 1 ulp. Overflows to infinity, underflows through the denormal numbers to 0; NaN stays NaN.
template <class D, class V>
HWY_INLINE V vector_exp(D d, V x) {
  V n;
  const V e_r = reduced_exp(d, clamp(x, hn::Set(d, -104.0f), hn::Set(d, 89.0f)), n);
  if constexpr (kScales) {
    return scaled(e_r, n);
  } else {
    // In two steps, because 2^n itself may not be a normal number.
    const auto whole = whole_number(n);
    const auto half = hn::ShiftRight<1>(whole);
    return hn::Mul(hn::Mul(e_r, power_of_two(d, half)), power_of_two(d, hn::Sub(whole, half)));
  }
}

// 2^(x scale), (2 + |x scale|) ulp, 1 for 0: exact enough where a small result counts little.
// With scaled(), x may be anything; without, x scale lies in [-126, 127] or is NaN.
template <class D, class V>
HWY_INLINE V quick_power(D d, V x, float scale) {
  static constexpr float kPower[] = {1.0f,
                                     6.931469776e-01f,
                                     2.402224209e-01f,
                                     5.550733743e-02f,
                                     9.671512641e-03f,
                                     1.326472718e-03f};  // of 2, in [-1/2, 1/2]
  const V power = hn::Mul(x, hn::Set(d, scale));
  const V n = hn::Round(power);
  const V fraction = polynomial(d, hn::Sub(power, n), kPower);
  if constexpr (kScales) {
    return scaled(fraction, n);  // infinity and 0 for infinite n, whose fraction is NaN
  } else {
    return hn::Mul(fraction, power_of_two(d, whole_number(n)));
  }
}

// e^x as quick_power, for x in [-87, 88] or NaN.
template <class D, class V>
HWY_INLINE V vector_exp_of_moderate(D d, V x) {
  return quick_power(d, x, kLog2E);
}

// The same for x <= 0 or NaN; 0 where that is less than 2e-38.
template <class D, class V>
HWY_INLINE V exp_of_negative(D d, V x) {
  const V lowest = hn::Set(d, -87.0f);
  const V e = vector_exp_of_moderate(d, kScales ? x : max_keeping_nan(lowest, x));
  return hn::IfThenZeroElse(hn::Lt(x, lowest), e);
}

// 1 / (1 + e^-x), 2 ulp.
template <class D, class V>
HWY_INLINE V vector_sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, vector_exp(d, hn::Neg(x))));
}

// 1.3 ulp.
template <class D, class V>
HWY_INLINE V vector_tanh(D d, V x) {
  static constexpr float kNearZero[] = {-3.333332837e-01f, 1.333274692e-01f, -5.384669825e-02f,
                                        2.097502165e-02f, -6.062241271e-03f};
  const V one = hn::Set(d, 1.0f), two = hn::Set(d, 2.0f);
  const V magnitude = hn::Abs(x);
  const V square = hn::Mul(x, x);
  const V near_zero = hn::MulAdd(hn::Mul(x, square), polynomial(d, square, kNearZero), x);
  const V e = vector_exp(d, hn::Mul(two, magnitude));
  const V far = hn::CopySign(hn::Sub(one, hn::Div(two, hn::Add(e, one))), x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), near_zero, far);
}

// 1.2 ulp.
template <class D, class V>
HWY_INLINE V vector_erf(D d, V x) {
  static constexpr float kNearZero[] = {1.283791661e-01f,  -3.761263490e-01f, 1.128369644e-01f,
                                        -2.685941383e-02f, 5.200990010e-03f,  -8.141481085e-04f,
                                        8.362309018e-05f};  // (erf x - x) / x in powers of x^2
  static constexpr float kMinusLogErfc[] = {2.070233313e-04f, 1.127627373e+00f,  6.372658610e-01f,
                                            1.038562655e-01f, -2.218972333e-02f, 3.033678047e-03f,
                                            -1.949452271e-04f};
  const V one = hn::Set(d, 1.0f);
  const V magnitude = min_keeping_nan(hn::Set(d, 4.0f), hn::Abs(x));  // erf 4 rounds to 1
  const V square = hn::Mul(x, x);
  const V near_zero = hn::MulAdd(x, polynomial(d, square, kNearZero), x);
  const V erfc = vector_exp(d, hn::Neg(polynomial(d, magnitude, kMinusLogErfc)));
  const V far = hn::CopySign(hn::Sub(one, erfc), x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.92f)), near_zero, far);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_MATH_INL_H_
