#if defined(__arm__)
#define HWY_COMPILE_ONLY_EMU128  // 32-bit NEON has no vectors of doubles
#endif
#define TORCHLET_NO_AVX3  // doubles are rare
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/functions_f64.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/functions_f64.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of two doubles are no faster than the C library.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSE4
template <double (*F)(double)>
void apply(const double* x, double* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = F(x[i]);
}
#define TORCHLET_APPLY(function, vector, low, high) apply<function>(x, y, count)
#else

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
constexpr D d;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(double));

// y, a function of x that is 0 where that is, of the same sign.
HWY_INLINE V with_zero_of(V x, V y) { return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y); }
HWY_INLINE V sigmoid(V x) {
  const V one = hn::Set(d, 1.0);
  return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(x))));
}

// By `vector` where all elements of one lie in [low, high].
template <double (*F)(double), class Vector>
HWY_NOINLINE void apply(const Vector& vector, double low, double high, const double* x, double* y,
                        int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const V v = hn::LoadU(d, x + i);
    const auto is_usual = hn::And(hn::Ge(v, hn::Set(d, low)), hn::Le(v, hn::Set(d, high)));
    if (HWY_LIKELY(hn::AllTrue(d, is_usual))) {
      hn::StoreU(vector(v), d, y + i);
    } else {
      for (int64_t k = i; k < i + kLanes; ++k) y[k] = F(x[k]);
    }
  }
  if (i == count) return;
  HWY_ALIGN double last[kLanes];  // with its last element again where there is no more
  for (int64_t k = 0; k < kLanes; ++k) last[k] = x[std::min(i + k, count - 1)];
  apply<F>(vector, low, high, last, last, kLanes);
  std::copy_n(last, count - i, y + i);
}
#define TORCHLET_APPLY(function, vector, low, high) \
  apply<function>([](V v) HWY_ATTR { return vector; }, low, high, x, y, count)
#endif

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

void function_here(DoubleFunction function, const double* x, double* y, int64_t count) {
  [[maybe_unused]] constexpr double kLeast = std::numeric_limits<double>::min();
  [[maybe_unused]] constexpr double kMost = std::numeric_limits<double>::max();
  switch (function) {
    case DoubleFunction::kNone:
      return;
    case DoubleFunction::kExp:
      return TORCHLET_APPLY(std::exp, hn::Exp(d, v), -700, 700);
    case DoubleFunction::kExpm1:
      return TORCHLET_APPLY(std::expm1, with_zero_of(v, hn::Expm1(d, v)), -700, 700);
    case DoubleFunction::kLog:
      return TORCHLET_APPLY(std::log, hn::Log(d, v), kLeast, kMost);
    case DoubleFunction::kLog1p:
      return TORCHLET_APPLY(std::log1p, hn::Log1p(d, v), -0.999, kMost);
    case DoubleFunction::kSin:
      return TORCHLET_APPLY(std::sin, with_zero_of(v, hn::Sin(d, v)), -39000, 39000);
    case DoubleFunction::kCos:
      return TORCHLET_APPLY(std::cos, hn::Cos(d, v), -39000, 39000);
    case DoubleFunction::kTanh:
      return TORCHLET_APPLY(std::tanh, hn::Tanh(d, v), -300, 300);
    case DoubleFunction::kSigmoid:
      return TORCHLET_APPLY(sigmoid_of, sigmoid(v), -700, 700);
    case DoubleFunction::kSqrt:
      return TORCHLET_APPLY(std::sqrt, hn::Sqrt(v), 0, kMost);
  }
}

#undef TORCHLET_APPLY

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(function_here);

void function_f64(DoubleFunction function, const double* x, double* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(function_here)(function, x, y, count);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
