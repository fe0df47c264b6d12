#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spatial/pool2d_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/simd/simd-inl.h"
#include "kernels/spatial/pool2d.h"
#include "kernels/spatial/window-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;

// Outputs [x, x + kVectors vectors) of a row: combines what is under the window, tap after tap.
template <int kVectors, class Combine>
HWY_INLINE void combine_taps(const Window2dShape& s, const WindowBuffer& buffer, int64_t y,
                             int64_t x, const Combine& combine, V (&values)[kVectors]) {
  for (int64_t i = 0; i < s.kernel_h; ++i) {
    const float* row = buffer.row(y * s.stride_h + i * s.dilation_h) + x;
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      const float* tap = row + buffer.tap_offsets()[j];
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        // By way of a name, since GCC 12 crashes otherwise where it checks threads (-O1).
        const V value = combine(values[v], hn::LoadU(d, tap + v * kWindowLanes));
        values[v] = value;
      }
    }
  }
}

// One row of outputs, each of them finish(what combine makes of its window and `start`, x).
template <class Combine, class Finish>
HWY_INLINE void pool_row(const Window2dShape& s, const WindowBuffer& buffer, int64_t y, float start,
                         float* out, const Combine& combine, const Finish& finish) {
  constexpr int kVectors = 4;  // whose chains of operations do not wait for each other
  int64_t x = 0;
  for (; x + kVectors * kWindowLanes <= s.out_w; x += kVectors * kWindowLanes) {
    V values[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) values[v] = hn::Set(d, start);
    combine_taps(s, buffer, y, x, combine, values);
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = x + v * kWindowLanes;
      hn::StoreU(finish(values[v], at), d, out + at);
    }
  }
  for (; x < s.out_w; x += kWindowLanes) {
    V value[] = {hn::Set(d, start)};
    combine_taps(s, buffer, y, x, combine, value);
    store_first(finish(value[0], x), d, out + x, s.out_w - x);
  }
}

// Calls pool(buffer, row in the strip, row, out) for each row of planes [begin, end).
template <class Pool>
HWY_INLINE void for_each_row(const Window2dShape& s, float padding, const float* x, float* y,
                             int64_t begin, int64_t end, const Pool& pool) {
  WindowBuffer buffer(s, 1, padding);
  for (int64_t plane = begin; plane < end; ++plane) {
    float* out = y + plane * s.out_h * s.out_w;
    for (int64_t row = 0; row < s.out_h; ++row, out += s.out_w) {
      const int64_t in_strip = row % buffer.out_rows();
      if (in_strip == 0) buffer.load(x + plane * s.in_h * s.in_w, row);
      pool(buffer, in_strip, row, out);
    }
  }
}

void max_pool(const Window2dShape& s, const float* x, float* y, int64_t begin, int64_t end) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  for_each_row(s, kLowest, x, y, begin, end,
               [&](const WindowBuffer& buffer, int64_t in_strip, int64_t, float* out) HWY_ATTR {
                 pool_row(
                     s, buffer, in_strip, kLowest, out,
                     [](V max, V v) HWY_ATTR {
                       return hn::IfThenElse(hn::Or(hn::Gt(v, max), hn::IsNaN(v)), v, max);
                     },
                     [](V max, int64_t) HWY_ATTR { return max; });
               });
}

// `row_counts` [out_h] and `col_counts` [out_w, rounded up to whole vectors]: how many pixels each
// output counts in each direction.
void avg_pool(const Window2dShape& s, const float* row_counts, const float* col_counts,
              const float* x, float* y, int64_t begin, int64_t end) {
  for_each_row(
      s, 0, x, y, begin, end,
      [&](const WindowBuffer& buffer, int64_t in_strip, int64_t row, float* out) HWY_ATTR {
        const V rows = hn::Set(d, row_counts[row]);
        pool_row(
            s, buffer, in_strip, 0, out, [](V sum, V v) HWY_ATTR { return hn::Add(sum, v); },
            [&](V sum, int64_t col)
                HWY_ATTR { return hn::Div(sum, hn::Mul(rows, hn::LoadU(d, col_counts + col))); });
      });
}

int64_t vector_lanes() { return kWindowLanes; }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(max_pool);
HWY_EXPORT(avg_pool);
HWY_EXPORT(vector_lanes);

namespace {

int64_t planes_per_task(const Window2dShape& s) {
  const int64_t ops = s.out_h * s.out_w * s.kernel_h * s.kernel_w;
  return std::max<int64_t>(1, (int64_t{1} << 17) / std::max<int64_t>(1, ops));
}

// Window positions that begin at out * stride - pad and are cut as PyTorch cuts them: first to the
// padded input, which decides the count with padding, then to the input.
void count_pixels(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                  bool count_include_pad, float* counts) {
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * stride - pad;
    const int64_t end = std::min(begin + kernel, in + pad);
    const int64_t inside = std::min(end, in) - std::max<int64_t>(begin, 0);
    counts[i] = static_cast<float>(count_include_pad ? end - begin : std::max<int64_t>(inside, 1));
  }
}

}  // namespace

void max_pool2d_f32(const Window2dShape& window, const float* x, float* y, int64_t planes) {
  parallel_for(planes, planes_per_task(window), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(max_pool)(window, x, y, begin, end);
  });
}

void avg_pool2d_f32(const Window2dShape& window, bool count_include_pad, int64_t divisor,
                    const float* x, float* y, int64_t planes) {
  const Window2dShape& s = window;
  const int64_t cols = s.out_w + HWY_DYNAMIC_DISPATCH(vector_lanes)();
  const Scratch<float> row_counts(s.out_h), col_counts(cols);
  std::fill_n(col_counts.data(), cols, 1.0f);
  if (divisor != 0) {
    std::fill_n(row_counts.data(), s.out_h, static_cast<float>(divisor));
  } else {
    count_pixels(s.in_h, s.out_h, s.kernel_h, s.stride_h, s.pad_h, count_include_pad,
                 row_counts.data());
    count_pixels(s.in_w, s.out_w, s.kernel_w, s.stride_w, s.pad_w, count_include_pad,
                 col_counts.data());
  }
  parallel_for(planes, planes_per_task(window), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(avg_pool)
    (window, row_counts.data(), col_counts.data(), x, y, begin, end);
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
