// The tangent, the inverse trigonometric and the hyperbolic functions, erfc and the sigmoid. The
// polynomials are minimax fits (Remez) made for these ranges.
#define TORCHLET_NO_AVX3  // plans do not run it
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/trigonometry_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <cmath>

#include "base/thread_pool.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr float kHalfPi = 1.57079633f;

template <class Function>
HWY_INLINE void map(const float* x, float* y, int64_t n, const Function& function) {
  for (int64_t i = 0; i < n; i += kLanes) {
    store_first(function(load_first(d, x + i, n - i)), d, y + i, n - i);
  }
}

HWY_INLINE V set(float x) { return hn::Set(d, x); }

// x + x^3 p(x^2)
template <size_t kCount>
HWY_INLINE V odd(V x, V square, const float (&p)[kCount]) {
  return hn::MulAdd(hn::Mul(x, square), polynomial(d, square, p), x);
}

// x less a multiple q of pi / 2, which is a sum of short numbers so that products with q are exact;
// an odd multiple turns the tangent into its negative inverse.
void tangent(const float* x, float* y, int64_t n) {
  constexpr float kEnd = 1000;
  static constexpr float kParts[] = {0x1.92p+0f, 0x1.fb4p-12f, 0x1.444p-24f, 0x1.68c234p-39f};
  static constexpr float kTail[] = {3.333335174e-01f, 1.333259944e-01f, 5.406675323e-02f,
                                    2.124858651e-02f, 1.091923589e-02f, -1.227904390e-05f,
                                    4.424833339e-03f};
  map(x, y, n, [](V v) HWY_ATTR {
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Gt(hn::Abs(v), set(kEnd))))) {
      HWY_ALIGN float lanes[HWY_LANES(float)];
      hn::Store(v, d, lanes);
      for (float& lane : lanes) lane = std::tan(lane);
      return hn::Load(d, lanes);
    }
    const hn::RebindToSigned<D> di;
    const V q = hn::Round(hn::Mul(v, set(1 / kHalfPi)));
    V r = v;
    for (const float part : kParts) r = hn::NegMulAdd(q, set(part), r);
    const V t = odd(r, hn::Mul(r, r), kTail);
    const auto parity = hn::And(hn::ConvertTo(di, q), hn::Set(di, 1));
    const auto is_odd = hn::RebindMask(d, hn::Eq(parity, hn::Set(di, 1)));
    return hn::IfThenElse(is_odd, hn::Div(set(-1), t), t);
  });
}

// asin x for |x| <= 1/2, and else asin sqrt((1 - |x|) / 2), which is (pi / 2 - asin |x|) / 2.
HWY_INLINE V reduced_asin(V x) {
  static constexpr float kTail[] = {1.666666305e-01f, 7.500358873e-02f, 4.454070986e-02f,
                                    3.163265810e-02f, 1.503628673e-02f, 3.674682236e-02f};
  const V magnitude = hn::Abs(x), half = set(0.5f);
  const auto is_small = hn::Le(magnitude, half);
  const V rest = hn::NegMulAdd(magnitude, half, half);
  const V square = hn::IfThenElse(is_small, hn::Mul(x, x), rest);
  return odd(hn::IfThenElse(is_small, x, hn::Sqrt(rest)), square, kTail);
}

void arc_sine(const float* x, float* y, int64_t n) {
  map(x, y, n, [](V v) HWY_ATTR {
    const V a = reduced_asin(v);
    const V far = hn::CopySign(hn::NegMulAdd(set(2), a, set(kHalfPi)), v);
    return hn::IfThenElse(hn::Le(hn::Abs(v), set(0.5f)), a, far);
  });
}

void arc_cosine(const float* x, float* y, int64_t n) {
  map(x, y, n, [](V v) HWY_ATTR {
    const V a = reduced_asin(v), twice = hn::Add(a, a);
    const V far = hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Sub(set(2 * kHalfPi), twice), twice);
    return hn::IfThenElse(hn::Le(hn::Abs(v), set(0.5f)), hn::Sub(set(kHalfPi), a), far);
  });
}

void arc_tangent(const float* x, float* y, int64_t n) {
  static constexpr float kTail[] = {-3.333331836e-01f, 1.999909335e-01f,  -1.426976255e-01f,
                                    1.097992700e-01f,  -8.481788898e-02f, 5.926026631e-02f,
                                    -3.244362340e-02f, 1.157940786e-02f,  -1.939395835e-03f};
  map(x, y, n, [](V v) HWY_ATTR {
    const auto is_far = hn::Gt(hn::Abs(v), set(1));
    const V r = hn::IfThenElse(is_far, hn::Div(set(1), v), v);
    const V a = odd(r, hn::Mul(r, r), kTail);
    return hn::IfThenElse(is_far, hn::Sub(hn::CopySign(set(kHalfPi), v), a), a);
  });
}

// e^x / 2 by its root, which is finite where the result is, with the sign of `sign` e^-x / 2 more.
HWY_INLINE V half_exponentials(V x, V sign) {
  const V root = vector_exp(d, hn::Mul(x, set(0.5f)));
  const V half = hn::Mul(hn::Mul(root, set(0.5f)), root);
  return hn::Add(half, hn::Div(sign, half));
}

void hyperbolic_sine(const float* x, float* y, int64_t n) {
  static constexpr float kTail[] = {1.666666651e-01f, 8.333349559e-03f, 1.983622942e-04f,
                                    2.816643319e-06f};
  map(x, y, n, [](V v) HWY_ATTR {
    const V magnitude = hn::Abs(v);
    const V far = hn::CopySign(half_exponentials(magnitude, set(-0.25f)), v);
    return hn::IfThenElse(hn::Lt(magnitude, set(1)), odd(v, hn::Mul(v, v), kTail), far);
  });
}

void hyperbolic_cosine(const float* x, float* y, int64_t n) {
  map(x, y, n, [](V v) HWY_ATTR { return half_exponentials(hn::Abs(v), set(0.25f)); });
}

// From 1/2 on e^-x^2 times a polynomial in (|x| - 3) / (|x| + 3) over |x| + 3; of -|x|, 2 - that.
void complementary_error(const float* x, float* y, int64_t n) {
  static constexpr float kScaled[] = {
      1.074006908e+00f,  -8.833944634e-01f, 5.902282187e-01f, -3.104667744e-01f, 1.195307243e-01f,
      -2.683287353e-02f, -1.235888573e-03f, 3.055677008e-03f, -4.673854582e-04f, -2.941119094e-04f};
  map(x, y, n, [](V v) HWY_ATTR {
    const hn::RebindToUnsigned<D> du;
    // Beyond 10.1 the result is 0.
    const V magnitude = min_keeping_nan(set(10.3f), hn::Abs(v));
    // x^2 = square + rest, because e^-x^2 magnifies an error of x^2.
    const V high = hn::BitCast(d, hn::And(hn::BitCast(du, magnitude), hn::Set(du, 0xFFFFF000u)));
    const V exact = hn::Mul(high, high);
    const V low = hn::Mul(hn::Sub(magnitude, high), hn::Add(magnitude, high));
    const V square = hn::Add(exact, low);
    const V rest = hn::Add(hn::Sub(exact, square), low);
    const V shifted = hn::Add(magnitude, set(3));
    const V scaled =
        hn::Div(polynomial(d, hn::Div(hn::Sub(magnitude, set(3)), shifted), kScaled), shifted);
    const V far = hn::Mul(hn::NegMulAdd(scaled, rest, scaled), vector_exp(d, hn::Neg(square)));
    const V mirrored = hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Sub(set(2), far), far);
    return hn::IfThenElse(hn::Lt(magnitude, set(0.5f)), hn::Sub(set(1), vector_erf(d, v)),
                          mirrored);
  });
}

void sigmoid(const float* x, float* y, int64_t n) {
  map(x, y, n, [](V v) HWY_ATTR { return vector_sigmoid(d, v); });
}
void silu(const float* x, float* y, int64_t n) {
  map(x, y, n, [](V v) HWY_ATTR { return hn::Div(v, hn::Add(set(1), vector_exp(d, hn::Neg(v)))); });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(tangent);
HWY_EXPORT(sigmoid);
HWY_EXPORT(silu);
HWY_EXPORT(arc_sine);
HWY_EXPORT(arc_cosine);
HWY_EXPORT(arc_tangent);
HWY_EXPORT(hyperbolic_sine);
HWY_EXPORT(hyperbolic_cosine);
HWY_EXPORT(complementary_error);

namespace {

constexpr int64_t kElementsPerTask = int64_t{1} << 12;

}  // namespace

void tan_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  parallel_for(n, kElementsPerTask, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(tangent)(x + begin, y + begin, end - begin);
  });
}
void sigmoid_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  parallel_for(n, kElementsPerTask, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(sigmoid)(x + begin, y + begin, end - begin);
  });
}
void silu_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  parallel_for(n, kElementsPerTask, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(silu)(x + begin, y + begin, end - begin);
  });
}
void asin_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  parallel_for(n, kElementsPerTask, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(arc_sine)(x + begin, y + begin, end - begin);
  });
}
void acos_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  parallel_for(n, kElementsPerTask, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(arc_cosine)(x + begin, y + begin, end - begin);
  });
}
void atan_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  parallel_for(n, kElementsPerTask, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(arc_tangent)(x + begin, y + begin, end - begin);
  });
}
void sinh_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  parallel_for(n, kElementsPerTask, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(hyperbolic_sine)(x + begin, y + begin, end - begin);
  });
}
void cosh_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  parallel_for(n, kElementsPerTask, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(hyperbolic_cosine)(x + begin, y + begin, end - begin);
  });
}
void erfc_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  parallel_for(n, kElementsPerTask, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(complementary_error)(x + begin, y + begin, end - begin);
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
