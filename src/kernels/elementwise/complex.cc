#include "kernels/elementwise/complex.h"

#include <algorithm>
#include <cmath>
#include <limits>

#if defined(__arm__)
#define HWY_COMPILE_ONLY_EMU128  // 32-bit NEON has no vectors of doubles
#endif
#define TORCHLET_NO_AVX3  // vectors wait for memory
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/complex.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
using D = hn::FixedTag<float, 1>;
#else
using D = hn::ScalableTag<float>;
#endif
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// y = f(a, b) for vectors of whole numbers, the last of which may have fewer.
template <typename F>
HWY_INLINE void map_pairs(const float* a, const float* b, float* y, int64_t count, const F& f) {
  const D d;
  for (int64_t i = 0; i < 2 * count; i += kLanes) {
    const int64_t rest = 2 * count - i;
    store_first(f(load_first(d, a + i, rest), load_first(d, b + i, rest)), d, y + i, rest);
  }
}

#if HWY_TARGET == HWY_SCALAR  // has no pairs
template <typename F>
void map_numbers(const float* a, const float* b, float* y, int64_t count, const F& f) {
  for (int64_t i = 0; i < 2 * count; i += 2) {
    float re, im;
    f(a[i], a[i + 1], b[i], b[i + 1], &re, &im);
    y[i] = re;
    y[i + 1] = im;
  }
}
void multiply(const float* a, const float* b, float* y, int64_t count) {
  map_numbers(a, b, y, count, [](float p, float q, float r, float s, float* re, float* im) {
    *re = p * r - q * s;
    *im = p * s + q * r;
  });
}
void divide(const float* a, const float* b, float* y, int64_t count) {
  map_numbers(a, b, y, count, [](float p, float q, float r, float s, float* re, float* im) {
    const float size = std::max(std::abs(r), std::abs(s)), x = r / size, z = s / size;
    const float square = r * x + s * z;
    *re = (p * x + q * z) / square;
    *im = (q * x - p * z) / square;
  });
}
void conjugate(const float* a, float* y, int64_t count) {
  map_numbers(a, a, y, count, [](float p, float q, float, float, float* re, float* im) {
    *re = p;
    *im = -q;
  });
}
#else

// The sign bit of each number's imaginary part, and of its real part.
HWY_INLINE V sign_of_imaginary() {
  const D d;
  return hn::OddEven(hn::SignBit(d), hn::Zero(d));
}
HWY_INLINE V sign_of_real() {
  const D d;
  return hn::OddEven(hn::Zero(d), hn::SignBit(d));
}

void multiply(const float* a, const float* b, float* y, int64_t count) {
  const D d;
  const V sign = sign_of_real();
  map_pairs(a, b, y, count, [&](V x, V z) HWY_ATTR {
    const V crossed = hn::Mul(hn::Reverse2(d, x), hn::DupOdd(z));
    return hn::Add(hn::Mul(x, hn::DupEven(z)), hn::Xor(crossed, sign));
  });
}

void divide(const float* a, const float* b, float* y, int64_t count) {
  const D d;
  const V sign = sign_of_imaginary();
  map_pairs(a, b, y, count, [&](V x, V z) HWY_ATTR {
    const V parts = hn::Abs(z);
    const V unit = hn::Div(z, hn::Max(parts, hn::Reverse2(d, parts)));
    const V squares = hn::Mul(z, unit);
    // x times the conjugate of z.
    const V crossed = hn::Mul(hn::Reverse2(d, x), hn::DupOdd(unit));
    const V product = hn::Add(hn::Mul(x, hn::DupEven(unit)), hn::Xor(crossed, sign));
    return hn::Div(product, hn::Add(squares, hn::Reverse2(d, squares)));
  });
}

void conjugate(const float* a, float* y, int64_t count) {
  const V sign = sign_of_imaginary();
  map_pairs(a, a, y, count, [&](V x, V) HWY_ATTR { return hn::Xor(x, sign); });
}
#endif

void absolute(const float* a, float* y, int64_t count) {
  // The squares of floats are numbers that a double has; where one is NaN the other may be
  // infinite.
  const auto one = [](float re, float im) {
    const double x = static_cast<double>(re), z = static_cast<double>(im);
    const double squares = x * x + z * z;
    const bool is_infinite = std::isinf(re) || std::isinf(im);
    return is_infinite ? std::numeric_limits<float>::infinity()
                       : static_cast<float>(std::sqrt(squares));
  };
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const D d;
  const hn::Half<D> half;
  const hn::Repartition<double, D> wide;
  const auto root = [&](auto re, auto im) HWY_ATTR {
    const auto x = hn::PromoteTo(wide, re), z = hn::PromoteTo(wide, im);
    return hn::DemoteTo(half, hn::Sqrt(hn::Add(hn::Mul(x, x), hn::Mul(z, z))));
  };
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  for (; i + kLanes <= count; i += kLanes) {
    V re, im;
    hn::LoadInterleaved2(d, a + 2 * i, re, im);
    const V size = hn::Combine(d, root(hn::UpperHalf(half, re), hn::UpperHalf(half, im)),
                               root(hn::LowerHalf(half, re), hn::LowerHalf(half, im)));
    const auto is_infinite = hn::Or(hn::IsInf(re), hn::IsInf(im));
    hn::StoreU(hn::IfThenElse(is_infinite, infinity, size), d, y + i);
  }
#endif
  for (; i < count; ++i) y[i] = one(a[2 * i], a[2 * i + 1]);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(multiply);
HWY_EXPORT(divide);
HWY_EXPORT(conjugate);
HWY_EXPORT(absolute);

void multiply_complex(const float* a, const float* b, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(multiply)(a, b, y, count);
}
void divide_complex(const float* a, const float* b, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(divide)(a, b, y, count);
}
void conjugate_complex(const float* a, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(conjugate)(a, y, count);
}
void absolute_complex(const float* a, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(absolute)(a, y, count);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
