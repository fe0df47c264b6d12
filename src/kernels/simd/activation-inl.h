// The activations of nhwc.h on vectors and on rows that were just computed. The errors stated are
// the largest that elementwise_nhwc_test.cc allows, in units in the last place.

#if defined(TORCHLET_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_ACTIVATION_INL_H_
#undef TORCHLET_KERNELS_ACTIVATION_INL_H_
#else
#define TORCHLET_KERNELS_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/nhwc.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether a reciprocal by iteration may be faster than a division: see divides_fast().
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr bool kIterates = true;
#else
constexpr bool kIterates = false;
#endif

// 1 / x for finite x >= 1, 1 ulp.
template <class D, class V>
HWY_INLINE V reciprocal_above_one(D d, V x) {
  if constexpr (!kIterates) return hn::Div(hn::Set(d, 1.0f), x);
  const V guess = hn::ApproximateReciprocal(x);
  return hn::MulAdd(guess, hn::NegMulAdd(x, guess, hn::Set(d, 1.0f)), guess);
}

// 1 + e^-x, as quick_power; below -87 it stays at its value there.
template <class D, class V>
HWY_INLINE V one_plus_exp_of_minus(D d, V x) {
  const V lowest = hn::Set(d, -87.0f);
  const V moderate = kScales ? max_keeping_nan(lowest, x) : clamp(x, lowest, hn::Set(d, 87.0f));
  return hn::Add(hn::Set(d, 1.0f), quick_power(d, moderate, -kLog2E));
}

// x / y for finite y >= 1, by a division or by a reciprocal.
template <bool kDivides, class D, class V>
HWY_INLINE V quotient_above_one(D d, V x, V y) {
  return kDivides ? hn::Div(x, y) : hn::Mul(x, reciprocal_above_one(d, y));
}

// The sigmoid, 3 ulp, and 1.25 more for each that x is below 0.
template <class D, class V>
HWY_INLINE V activate_sigmoid(D d, V x) {
  return reciprocal_above_one(d, one_plus_exp_of_minus(d, x));
}

// x times it.
template <bool kDivides, class D, class V>
HWY_INLINE V activate_silu(D d, V x) {
  return quotient_above_one<kDivides>(d, x, one_plus_exp_of_minus(d, x));
}

// The hyperbolic tangent, 2 ulp, as vector_tanh without the division.
template <class D, class V>
HWY_INLINE V activate_tanh(D d, V x) {
  static constexpr float kNearZero[] = {-3.333332837e-01f, 1.333274692e-01f, -5.384669825e-02f,
                                        2.097502165e-02f, -6.062241271e-03f};
  const V one = hn::Set(d, 1.0f);
  const V magnitude = hn::Abs(x);
  const V square = hn::Mul(x, x);
  const V near_zero = hn::MulAdd(hn::Mul(x, square), polynomial(d, square, kNearZero), x);
  const V twice = min_keeping_nan(hn::Set(d, 40.0f), hn::Add(magnitude, magnitude));
  const V e = vector_exp_of_moderate(d, twice);
  const V inverse = reciprocal_above_one(d, hn::Add(e, one));
  const V far = hn::CopySign(hn::NegMulAdd(hn::Set(d, 2.0f), inverse, one), x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), near_zero, far);
}

// x clamp(x + 3, 0, 6) / 6 or, without the factor x, the hard sigmoid; 3 ulp.
template <class D, class V>
HWY_INLINE V activate_hardsigmoid(D d, V x) {
  const V gate = clamp(hn::Add(x, hn::Set(d, 3.0f)), hn::Zero(d), hn::Set(d, 6.0f));
  return hn::Mul(gate, hn::Set(d, 1.0f / 6));
}
template <class D, class V>
HWY_INLINE V activate_hardswish(D d, V x) {
  return hn::Mul(x, activate_hardsigmoid(d, x));
}

// x (1 + y) / 2
template <class D, class V>
HWY_INLINE V half_of_one_plus(D d, V x, V y) {
  const V half = hn::Mul(hn::Set(d, 0.5f), x);
  return hn::MulAdd(half, y, half);
}

// x (1 + erf(x / sqrt 2)) / 2 within 5e-7. The error function is x times a quotient of polynomials
// in x^2 (a minimax fit of what this returns) up to x = 5.54, where it is 1, and beyond what of it
// is below 1.
template <bool kDivides, class D, class V>
HWY_INLINE V activate_gelu(D d, V x) {
  constexpr float kEndSquare = 30.7328f;
  static constexpr float kNumerator[] = {7.978803097e-01f, 1.404620723e-01f, 1.401658942e-02f,
                                         1.098747064e-03f, 1.966936676e-05f};
  static constexpr float kDenominator[] = {1.0f,
                                           3.426802506e-01f,
                                           4.972767090e-02f,
                                           4.039269573e-03f,
                                           2.000488943e-04f,
                                           7.885824841e-07f};
  const V one = hn::Set(d, 1.0f);
  const V square = min_keeping_nan(hn::Set(d, kEndSquare), hn::Mul(x, x));
  const V dividend = hn::Mul(x, polynomial(d, square, kNumerator));
  const V erf = quotient_above_one<kDivides>(d, dividend, polynomial(d, square, kDenominator));
  return half_of_one_plus(d, x, clamp(erf, hn::Neg(one), one));
}

// (1 + tanh z) / 2 is sigmoid(2 z).
template <class D, class V>
HWY_INLINE V activate_gelu_tanh(D d, V x) {
  const V cube = hn::Mul(hn::Mul(x, x), x);
  const V inner = hn::MulAdd(hn::Set(d, 0.044715f), cube, x);
  return hn::Mul(x, activate_sigmoid(d, hn::Mul(hn::Set(d, 1.595769122f), inner)));
}

template <class D, class V>
HWY_INLINE V activate_leaky_relu(D d, V x, V slope) {
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(slope, x));
}

// The activation of a matrix, where `y` may be `x`, and the sum of two, in place of `y`; in
// activation_f32.cc.
void activate_rows(const Activation& activation, const float* x, int64_t x_stride, float* y,
                   int64_t y_stride, int64_t rows, int64_t columns);
void add_rows(const float* residual, int64_t residual_stride, float* y, int64_t stride,
              int64_t rows, int64_t columns);

// The rest of an epilogue on a matrix that holds sum + bias and is still in the first-level cache.
// `residual` is the residual of its first element, or null. The residual may not be `y` itself.
HWY_INLINE void finish_rows(const EpilogueF32& epilogue, const float* residual, float* y,
                            int64_t stride, int64_t rows, int64_t columns) {
  if (residual && !epilogue.residual_last) {
    add_rows(residual, epilogue.residual_stride, y, stride, rows, columns);
  }
  activate_rows(epilogue.activation, y, stride, y, stride, rows, columns);
  if (residual && epilogue.residual_last) {
    add_rows(residual, epilogue.residual_stride, y, stride, rows, columns);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_ACTIVATION_INL_H_
