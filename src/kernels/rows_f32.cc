#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/math-inl.h"
#include "kernels/rows.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// Sum of function(x[i]). Four sums at a time hide the latency of an addition and lose less
// precision.
template <class Function>
HWY_INLINE float sum_of(const float* x, int64_t n, const Function& function) {
  V sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    HWY_UNROLL(4)
    for (int j = 0; j < 4; ++j) {
      sums[j] = hn::Add(sums[j], function(hn::LoadU(d, x + i + j * kLanes)));
    }
  }
  for (; i < n; i += kLanes) {
    const auto inside = hn::FirstN(d, static_cast<size_t>(std::min(kLanes, n - i)));
    const V value = function(load_first(d, x + i, n - i));
    sums[0] = hn::Add(sums[0], hn::IfThenElseZero(inside, value));
  }
  const V sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

HWY_INLINE float sum_row(const float* x, int64_t n) {
  return sum_of(x, n, [](V v) HWY_ATTR { return v; });
}

// A NaN in the row may or may not be the result.
HWY_INLINE float max_row(const float* x, int64_t n) {
  const V lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  V max = lowest;
  for (int64_t i = 0; i < n; i += kLanes) {
    const auto inside = hn::FirstN(d, static_cast<size_t>(std::min(kLanes, n - i)));
    max = hn::Max(max, hn::IfThenElse(inside, load_first(d, x + i, n - i), lowest));
  }
  return hn::GetLane(hn::MaxOfLanes(d, max));
}

void row_sums(const float* x, float* out, int64_t begin, int64_t end, int64_t cols) {
  for (int64_t row = begin; row < end; ++row) out[row] = sum_row(x + row * cols, cols);
}

HWY_INLINE void moments(const float* x, int64_t n, float* mean, float* variance) {
  *mean = sum_row(x, n) / static_cast<float>(n);
  const V center = hn::Set(d, *mean);
  const float squares = sum_of(x, n, [&](V v) HWY_ATTR {
    const V distance = hn::Sub(v, center);
    return hn::Mul(distance, distance);
  });
  *variance = squares / static_cast<float>(n);
}

void row_moments(const float* x, float* mean, float* variance, int64_t begin, int64_t end,
                 int64_t cols) {
  for (int64_t row = begin; row < end; ++row)
    moments(x + row * cols, cols, mean + row, variance + row);
}

void softmax(const float* x, float* y, int64_t begin, int64_t end, int64_t cols, bool logarithm) {
  for (int64_t row = begin; row < end; ++row) {
    const float* from = x + row * cols;
    float* to = y + row * cols;
    const V max = hn::Set(d, max_row(from, cols));
    if (logarithm) {
      const float sum =
          sum_of(from, cols, [&](V v) HWY_ATTR { return vector_exp(d, hn::Sub(v, max)); });
      const V log_sum = hn::Set(d, std::log(sum));
      for (int64_t i = 0; i < cols; i += kLanes) {
        const V v = hn::Sub(load_first(d, from + i, cols - i), max);
        store_first(hn::Sub(v, log_sum), d, to + i, cols - i);
      }
      continue;
    }
    for (int64_t i = 0; i < cols; i += kLanes) {
      const V v = hn::Sub(load_first(d, from + i, cols - i), max);
      store_first(vector_exp(d, v), d, to + i, cols - i);
    }
    const V sum = hn::Set(d, sum_row(to, cols));
    for (int64_t i = 0; i < cols; i += kLanes) {
      store_first(hn::Div(load_first(d, to + i, cols - i), sum), d, to + i, cols - i);
    }
  }
}

void layer_norm(const float* x, const float* weight, const float* bias, float* y, int64_t begin,
                int64_t end, int64_t cols, float eps) {
  for (int64_t row = begin; row < end; ++row) {
    const float* from = x + row * cols;
    float* to = y + row * cols;
    float mean, variance;
    moments(from, cols, &mean, &variance);
    const V center = hn::Set(d, mean), scale = hn::Set(d, 1 / std::sqrt(variance + eps));
    for (int64_t i = 0; i < cols; i += kLanes) {
      const int64_t left = cols - i;
      V v = hn::Mul(hn::Sub(load_first(d, from + i, left), center), scale);
      if (weight) v = hn::Mul(v, load_first(d, weight + i, left));
      if (bias) v = hn::Add(v, load_first(d, bias + i, left));
      store_first(v, d, to + i, left);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(row_sums);
HWY_EXPORT(row_moments);
HWY_EXPORT(softmax);
HWY_EXPORT(layer_norm);

namespace {

void parallel_rows(int64_t rows, int64_t cols, FunctionRef<void(int64_t, int64_t)> body) {
  constexpr int64_t kElementsPerTask = int64_t{1} << 16;
  parallel_for(rows, std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, cols)), body);
}

}  // namespace

void row_sums_f32(const float* x, float* out, int64_t rows, int64_t cols) {
  parallel_rows(rows, cols, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(row_sums)(x, out, begin, end, cols);
  });
}

void row_moments_f32(const float* x, float* mean, float* variance, int64_t rows, int64_t cols) {
  parallel_rows(rows, cols, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(row_moments)(x, mean, variance, begin, end, cols);
  });
}

void softmax_f32(const float* x, float* y, int64_t rows, int64_t cols) {
  parallel_rows(rows, cols, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(softmax)(x, y, begin, end, cols, false);
  });
}

void log_softmax_f32(const float* x, float* y, int64_t rows, int64_t cols) {
  parallel_rows(rows, cols, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(softmax)(x, y, begin, end, cols, true);
  });
}

void layer_norm_f32(const float* x, const float* weight, const float* bias, float* y, int64_t rows,
                    int64_t cols, float eps) {
  parallel_rows(rows, cols, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(layer_norm)(x, weight, bias, y, begin, end, cols, eps);
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
