#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "base/thread_pool.h"
#include "kernels/elementwise.h"
#include "kernels/math-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// y[i] = function(x[i])
template <class Function>
HWY_INLINE void map(const float* x, float* y, int64_t n, const Function& function) {
  for (int64_t i = 0; i < n; i += kLanes) {
    store_first(function(load_first(d, x + i, n - i)), d, y + i, n - i);
  }
}

HWY_INLINE V times_half_of_one_plus(V x, V y) {
  const V half = hn::Mul(hn::Set(d, 0.5f), x);
  return hn::MulAdd(half, y, half);
}

HWY_INLINE V hard_sigmoid(V x) {
  const V six = hn::Set(d, 6.0f);
  return hn::Div(clamp(hn::Add(x, hn::Set(d, 3.0f)), hn::Zero(d), six), six);
}

void unary(UnaryOp op, const float* x, float* y, int64_t n, float alpha, float beta) {
  const V a = hn::Set(d, alpha);
  switch (op) {
    case UnaryOp::kClamp: {
      const V hi = hn::Set(d, beta);
      return map(x, y, n, [&](V v) HWY_ATTR { return clamp(v, a, hi); });
    }
    case UnaryOp::kLeakyRelu:
      return map(x, y, n, [&](V v) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(v, hn::Zero(d)), v, hn::Mul(a, v));
      });
    case UnaryOp::kElu:
      return map(x, y, n, [&](V v) HWY_ATTR {
        const V below = hn::Mul(a, hn::Sub(vector_exp(d, v), hn::Set(d, 1.0f)));
        return hn::IfThenElse(hn::Gt(v, hn::Zero(d)), v, below);
      });
    case UnaryOp::kHardSigmoid:
      return map(x, y, n, [](V v) HWY_ATTR { return hard_sigmoid(v); });
    case UnaryOp::kHardSwish:
      return map(x, y, n, [](V v) HWY_ATTR {
        const V six = hn::Set(d, 6.0f);
        const V gate = clamp(hn::Add(v, hn::Set(d, 3.0f)), hn::Zero(d), six);
        return hn::Div(hn::Mul(v, gate), six);
      });
    case UnaryOp::kExp:
      return map(x, y, n, [](V v) HWY_ATTR { return vector_exp(d, v); });
    case UnaryOp::kErf:
      return map(x, y, n, [](V v) HWY_ATTR { return vector_erf(d, v); });
    case UnaryOp::kSigmoid:
      return map(x, y, n, [](V v) HWY_ATTR { return vector_sigmoid(d, v); });
    case UnaryOp::kTanh:
      return map(x, y, n, [](V v) HWY_ATTR { return vector_tanh(d, v); });
    case UnaryOp::kSilu:
      return map(x, y, n, [](V v) HWY_ATTR {
        return hn::Div(v, hn::Add(hn::Set(d, 1.0f), vector_exp(d, hn::Neg(v))));
      });
    case UnaryOp::kGelu:
      return map(x, y, n, [](V v) HWY_ATTR {
        return times_half_of_one_plus(v, vector_erf(d, hn::Mul(v, hn::Set(d, 0.707106781f))));
      });
    case UnaryOp::kGeluTanh:
      return map(x, y, n, [](V v) HWY_ATTR {
        const V cube = hn::Mul(hn::Mul(v, v), v);
        const V inner = hn::MulAdd(hn::Set(d, 0.044715f), cube, v);
        return times_half_of_one_plus(v, vector_tanh(d, hn::Mul(hn::Set(d, 0.797884561f), inner)));
      });
  }
}

template <class Function>
HWY_INLINE void map2(const float* a, int64_t a_step, const float* b, int64_t b_step, float* y,
                     int64_t n, const Function& function) {
  if (a_step == 0) {
    const V scalar = hn::Set(d, *a);
    return map(b, y, n, [&](V v) HWY_ATTR { return function(scalar, v); });
  }
  if (b_step == 0) {
    const V scalar = hn::Set(d, *b);
    return map(a, y, n, [&](V v) HWY_ATTR { return function(v, scalar); });
  }
  for (int64_t i = 0; i < n; i += kLanes) {
    const V result = function(load_first(d, a + i, n - i), load_first(d, b + i, n - i));
    store_first(result, d, y + i, n - i);
  }
}

void binary(BinaryOp op, const float* a, int64_t a_step, const float* b, int64_t b_step, float* y,
            int64_t n) {
  const auto run = [&](const auto& function)
                       HWY_ATTR { map2(a, a_step, b, b_step, y, n, function); };
  switch (op) {
    case BinaryOp::kAdd:
      return run([](V p, V q) HWY_ATTR { return hn::Add(p, q); });
    case BinaryOp::kSub:
      return run([](V p, V q) HWY_ATTR { return hn::Sub(p, q); });
    case BinaryOp::kMul:
      return run([](V p, V q) HWY_ATTR { return hn::Mul(p, q); });
    case BinaryOp::kDiv:
      return run([](V p, V q) HWY_ATTR { return hn::Div(p, q); });
    case BinaryOp::kMax:
      return run([](V p, V q)
                     HWY_ATTR { return hn::IfThenElse(hn::IsNaN(p), p, max_keeping_nan(p, q)); });
    case BinaryOp::kMin:
      return run([](V p, V q)
                     HWY_ATTR { return hn::IfThenElse(hn::IsNaN(p), p, min_keeping_nan(p, q)); });
  }
}

// Channels-first: rows [begin, end) of [outer * channels, inner].
void scale_shift_planes(const float* x, const float* scale, const float* shift, float* y,
                        int64_t channels, int64_t inner, float min, float max, int64_t begin,
                        int64_t end) {
  const V lo = hn::Set(d, min), hi = hn::Set(d, max);
  for (int64_t row = begin; row < end; ++row) {
    const V a = hn::Set(d, scale[row % channels]), b = hn::Set(d, shift[row % channels]);
    map(x + row * inner, y + row * inner, inner,
        [&](V v) HWY_ATTR { return clamp(hn::MulAdd(v, a, b), lo, hi); });
  }
}

// Channels-last: rows [begin, end) of [outer, channels].
void scale_shift_pixels(const float* x, const float* scale, const float* shift, float* y,
                        int64_t channels, float min, float max, int64_t begin, int64_t end) {
  const V lo = hn::Set(d, min), hi = hn::Set(d, max);
  for (int64_t row = begin; row < end; ++row) {
    const float* from = x + row * channels;
    float* to = y + row * channels;
    for (int64_t c = 0; c < channels; c += kLanes) {
      const int64_t left = channels - c;
      const V v = hn::MulAdd(load_first(d, from + c, left), load_first(d, scale + c, left),
                             load_first(d, shift + c, left));
      store_first(clamp(v, lo, hi), d, to + c, left);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

namespace torchlet::kernels {

HWY_EXPORT(unary);
HWY_EXPORT(binary);
HWY_EXPORT(scale_shift_planes);
HWY_EXPORT(scale_shift_pixels);

namespace {
constexpr int64_t kElementsPerTask = int64_t{1} << 16;
}  // namespace

void unary_f32(UnaryOp op, const float* x, float* y, int64_t n, float alpha, float beta) {
  parallel_for(n, kElementsPerTask, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(unary)(op, x + begin, y + begin, end - begin, alpha, beta);
  });
}

void binary_f32(BinaryOp op, const float* a, int64_t a_step, const float* b, int64_t b_step,
                float* y, int64_t n) {
  parallel_for(n, kElementsPerTask, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(binary)
    (op, a + begin * a_step, a_step, b + begin * b_step, b_step, y + begin, end - begin);
  });
}

void scale_shift_f32(const float* x, const float* scale, const float* shift, float* y,
                     int64_t outer, int64_t channels, int64_t inner, float min, float max) {
  const int64_t row = inner == 1 ? channels : inner;
  const int64_t rows = inner == 1 ? outer : outer * channels;
  const int64_t grain = std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, row));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    if (inner == 1) {
      HWY_DYNAMIC_DISPATCH(scale_shift_pixels)
      (x, scale, shift, y, channels, min, max, begin, end);
    } else {
      HWY_DYNAMIC_DISPATCH(scale_shift_planes)
      (x, scale, shift, y, channels, inner, min, max, begin, end);
    }
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
