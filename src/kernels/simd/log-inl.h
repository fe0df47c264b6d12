// Logarithms and e^x - 1 of float vectors, beside math-inl.h and in its manner: the errors stated
// are in units in the last place.

#if defined(TORCHLET_KERNELS_LOG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_LOG_INL_H_
#undef TORCHLET_KERNELS_LOG_INL_H_
#else
#define TORCHLET_KERNELS_LOG_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

#include "kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The natural logarithm, 2 ulp; -inf of 0, NaN below.
template <class D, class V>
HWY_INLINE V vector_log(D d, V x) {
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // as in vector_exp
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // (log(1 + z) - z + z^2 / 2) / z^3 for 1 + z from sqrt(1/2) to sqrt(2)
  static constexpr float kTail[] = {3.333331673e-01f,  -2.500080907e-01f, 2.000228542e-01f,
                                    -1.662459356e-01f, 1.418122609e-01f,  -1.312844127e-01f,
                                    1.288133160e-01f,  -7.860016643e-02f};
  const hn::RebindToSigned<D> di;
  // x = 2^n m; denormal numbers are scaled up first.
  const auto tiny = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
  const V scaled = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 8388608.0f)), x);
  const auto bits = hn::BitCast(di, scaled);
  // Subtracting the bits of sqrt(1/2) makes the exponent of m in [sqrt(1/2), sqrt(2)) zero.
  const auto shifted = hn::Sub(bits, hn::Set(di, 0x3F3504F3));
  const auto exponent = hn::ShiftRight<23>(shifted);
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const V n = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(tiny, hn::Set(d, 23.0f)));
  const V z = hn::Sub(m, hn::Set(d, 1.0f));
  const V square = hn::Mul(z, z);
  V rest = hn::MulAdd(hn::Mul(square, z), polynomial(d, z, kTail), hn::Mul(n, hn::Set(d, kLn2Low)));
  rest = hn::NegMulAdd(square, hn::Set(d, 0.5f), rest);
  const V log = hn::MulAdd(n, hn::Set(d, kLn2High), hn::Add(z, rest));
  const V infinity = hn::Set(d, kInfinity);
  V special = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity),
                             hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
  special = hn::IfThenElse(hn::Eq(x, infinity), infinity, special);
  const auto usual = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, infinity));
  return hn::IfThenElse(usual, log, special);
}

// log(1 + x), 3 ulp: the rounding of u = 1 + x is made good by x / (u - 1) (W. Kahan).
template <class D, class V>
HWY_INLINE V vector_log1p(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V u = hn::Add(one, x);
  const V step = hn::Sub(u, one);
  const V log = vector_log(d, u);
  const V result = hn::IfThenElse(hn::Eq(x, step), log, hn::Mul(log, hn::Div(x, step)));
  return hn::IfThenElse(hn::Eq(step, hn::Zero(d)), x, result);
}

// e^x - 1, 4 ulp.
template <class D, class V>
HWY_INLINE V vector_expm1(D d, V x) {
  // (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, as in vector_exp
  static constexpr float kTail[] = {5.000000000e-01f, 1.666666716e-01f, 4.166626930e-02f,
                                    8.333263919e-03f, 1.394617604e-03f, 1.991854660e-04f};
  const V near_zero = hn::MulAdd(hn::Mul(x, x), polynomial(d, x, kTail), x);
  const V far = hn::Sub(vector_exp(d, x), hn::Set(d, 1.0f));
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 0.34657f)), near_zero, far);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_LOG_INL_H_
