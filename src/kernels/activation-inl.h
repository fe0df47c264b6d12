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
#include <limits>

#include "kernels/math-inl.h"
#include "kernels/nhwc.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 1 / x for finite x >= 1, 1 ulp. A division costs as much as eight multiply-adds.
template <class D, class V>
HWY_INLINE V reciprocal_above_one(D d, V x) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  const V guess = hn::ApproximateReciprocal(x);
  return hn::MulAdd(guess, hn::NegMulAdd(x, guess, hn::Set(d, 1.0f)), guess);
#else
  return hn::Div(hn::Set(d, 1.0f), x);
#endif
}

// The sigmoid, 3 ulp; below -87, where it is less than 2e-38, it stays at its value there.
template <class D, class V>
HWY_INLINE V activate_sigmoid(D d, V x) {
  const V negated = hn::Neg(max_keeping_nan(hn::Set(d, -87.0f), x));
  return reciprocal_above_one(d, hn::Add(hn::Set(d, 1.0f), vector_exp(d, negated)));
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

template <class D, class V>
HWY_INLINE V activate_gelu(D d, V x) {
  return half_of_one_plus(d, x, vector_erf(d, hn::Mul(x, hn::Set(d, 0.707106781f))));
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

// What a kernel can apply in registers at once: kNone and kClamp as bounds. Others are left to
// finish_rows.
struct Bounds {
  float low, high;
};
HWY_INLINE bool is_clamp(const Activation& activation) {
  return activation.kind == ActivationKind::kNone || activation.kind == ActivationKind::kClamp;
}
HWY_INLINE Bounds bounds_of(const Activation& activation) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (activation.kind == ActivationKind::kClamp) return {activation.low, activation.high};
  return {-kInfinity, kInfinity};
}

// y[i] = function(y[i]) in a matrix [rows, columns].
template <class Function>
HWY_INLINE void map_rows(float* y, int64_t stride, int64_t rows, int64_t columns,
                         const Function& function) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kStep = static_cast<int64_t>(HWY_LANES(float));
  if (stride == columns) {
    columns *= rows;
    rows = 1;
  }
  for (int64_t row = 0; row < rows; ++row, y += stride) {
    for (int64_t i = 0; i < columns; i += kStep) {
      store_first(function(load_first(d, y + i, columns - i)), d, y + i, columns - i);
    }
  }
}

// The activation of a matrix, in place.
HWY_NOINLINE inline void activate_rows(const Activation& activation, float* y, int64_t stride,
                                       int64_t rows, int64_t columns) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V low = hn::Set(d, activation.low), high = hn::Set(d, activation.high);
  const auto run = [&](const auto& function)
                       HWY_ATTR { map_rows(y, stride, rows, columns, function); };
  switch (activation.kind) {
    case ActivationKind::kNone:
      return;
    case ActivationKind::kClamp:
      return run([&](V v) HWY_ATTR { return clamp(v, low, high); });
    case ActivationKind::kLeakyRelu:
      return run([&](V v) HWY_ATTR { return activate_leaky_relu(d, v, low); });
    case ActivationKind::kHardswish:
      return run([&](V v) HWY_ATTR { return activate_hardswish(d, v); });
    case ActivationKind::kHardsigmoid:
      return run([&](V v) HWY_ATTR { return activate_hardsigmoid(d, v); });
    case ActivationKind::kSigmoid:
      return run([&](V v) HWY_ATTR { return activate_sigmoid(d, v); });
    case ActivationKind::kSilu:
      return run([&](V v) HWY_ATTR { return hn::Mul(v, activate_sigmoid(d, v)); });
    case ActivationKind::kTanh:
      return run([&](V v) HWY_ATTR { return vector_tanh(d, v); });
    case ActivationKind::kGelu:
      return run([&](V v) HWY_ATTR { return activate_gelu(d, v); });
    case ActivationKind::kGeluTanh:
      return run([&](V v) HWY_ATTR { return activate_gelu_tanh(d, v); });
  }
}

HWY_NOINLINE inline void add_rows(const float* residual, int64_t residual_stride, float* y,
                                  int64_t stride, int64_t rows, int64_t columns) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kStep = static_cast<int64_t>(HWY_LANES(float));
  for (int64_t row = 0; row < rows; ++row, y += stride, residual += residual_stride) {
    for (int64_t i = 0; i < columns; i += kStep) {
      const int64_t left = columns - i;
      store_first(hn::Add(load_first(d, y + i, left), load_first(d, residual + i, left)), d, y + i,
                  left);
    }
  }
}

// The rest of an epilogue on a matrix that holds sum + bias and is still in the first-level cache.
// `residual` is the residual of its first element, or null. The residual may not be `y` itself.
HWY_INLINE void finish_rows(const EpilogueF32& epilogue, const float* residual, float* y,
                            int64_t stride, int64_t rows, int64_t columns) {
  if (residual && !epilogue.residual_last) {
    add_rows(residual, epilogue.residual_stride, y, stride, rows, columns);
  }
  activate_rows(epilogue.activation, y, stride, rows, columns);
  if (residual && epilogue.residual_last) {
    add_rows(residual, epilogue.residual_stride, y, stride, rows, columns);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_ACTIVATION_INL_H_
