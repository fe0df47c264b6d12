#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/normalize_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/elementwise/normalize.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"

#ifndef TORCHLET_KERNELS_ROW_ARGUMENTS_
#define TORCHLET_KERNELS_ROW_ARGUMENTS_
namespace torchlet::kernels {
constexpr int kRowsTogether = 4;  // whose sums a layer norm makes at once
// What a function of rows reads and writes.
struct RowArguments {
  const float* x;
  int64_t x_stride;
  float* y;  // one number a row for sums and moments
  int64_t y_stride;
  int64_t cols;
  float eps = 0;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* variance = nullptr;  // of moments
};
// Of rows [begin, end).
using RowFunction = void(const RowArguments& r, int64_t begin, int64_t end);
}  // namespace torchlet::kernels
#endif

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
  V max[2] = {lowest, lowest};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    max[0] = hn::Max(max[0], hn::LoadU(d, x + i));
    max[1] = hn::Max(max[1], hn::LoadU(d, x + i + kLanes));
  }
  for (; i < n; i += kLanes) {
    const auto inside = hn::FirstN(d, static_cast<size_t>(std::min(kLanes, n - i)));
    max[0] = hn::Max(max[0], hn::IfThenElse(inside, load_first(d, x + i, n - i), lowest));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(max[0], max[1])));
}

HWY_NOINLINE void moments(const float* x, int64_t n, float* mean, float* variance) {
  *mean = sum_row(x, n) / static_cast<float>(n);
  const V center = hn::Set(d, *mean);
  const float squares = sum_of(x, n, [&](V v) HWY_ATTR {
    const V distance = hn::Sub(v, center);
    return hn::Mul(distance, distance);
  });
  *variance = squares / static_cast<float>(n);
}

HWY_INLINE void softmax_row(const float* from, float* to, int64_t cols) {
  const V max = hn::Set(d, max_row(from, cols));
  V sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + kLanes <= cols; i += kLanes) {
    const V e = exp_of_negative(d, hn::Sub(hn::LoadU(d, from + i), max));
    hn::StoreU(e, d, to + i);
    sum = hn::Add(sum, e);
  }
  if (i < cols) {
    const auto inside = hn::FirstN(d, static_cast<size_t>(cols - i));
    const V e = exp_of_negative(d, hn::Sub(load_first(d, from + i, cols - i), max));
    store_first(e, d, to + i, cols - i);
    sum = hn::Add(sum, hn::IfThenElseZero(inside, e));
  }
  const V scale = hn::Set(d, 1 / hn::GetLane(hn::SumOfLanes(d, sum)));
  for (i = 0; i + kLanes <= cols; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, to + i), scale), d, to + i);
  }
  if (i < cols) {
    store_first(hn::Mul(load_first(d, to + i, cols - i), scale), d, to + i, cols - i);
  }
}

HWY_INLINE void log_softmax_row(const float* from, float* to, int64_t cols) {
  const V max = hn::Set(d, max_row(from, cols));
  const float sum =
      sum_of(from, cols, [&](V v) HWY_ATTR { return vector_exp(d, hn::Sub(v, max)); });
  const V log_sum = hn::Set(d, std::log(sum));
  for (int64_t i = 0; i < cols; i += kLanes) {
    const V v = hn::Sub(load_first(d, from + i, cols - i), max);
    store_first(hn::Sub(v, log_sum), d, to + i, cols - i);
  }
}

// Up to kVectors * kLanes columns of a matrix.
template <int kVectors>
HWY_INLINE void softmax_some_columns(bool logarithm, const float* from, float* to, int64_t stride,
                                     int64_t rows, int64_t cols) {
  V max[kVectors], sum[kVectors];
  const auto each = [&](const auto& body) HWY_ATTR {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) body(v, v * kLanes, cols - v * kLanes);
  };
  each([&](int v, int64_t, int64_t) HWY_ATTR {
    max[v] = hn::Set(d, -std::numeric_limits<float>::infinity());
    sum[v] = hn::Zero(d);
  });
  for (int64_t r = 0; r < rows; ++r) {
    each([&](int v, int64_t c, int64_t left)
             HWY_ATTR { max[v] = hn::Max(max[v], load_first(d, from + r * stride + c, left)); });
  }
  for (int64_t r = 0; r < rows; ++r) {
    each([&](int v, int64_t c, int64_t left) HWY_ATTR {
      const V e = exp_of_negative(d, hn::Sub(load_first(d, from + r * stride + c, left), max[v]));
      if (!logarithm) store_first(e, d, to + r * stride + c, left);
      sum[v] = hn::Add(sum[v], e);
    });
  }
  each([&](int v, int64_t, int64_t) HWY_ATTR {
    if (!logarithm) {
      sum[v] = hn::Div(hn::Set(d, 1.0f), sum[v]);
      return;
    }
    HWY_ALIGN float sums[kLanes];
    hn::Store(sum[v], d, sums);
    for (float& x : sums) x = std::log(x);
    sum[v] = hn::Load(d, sums);
  });
  for (int64_t r = 0; r < rows; ++r) {
    each([&](int v, int64_t c, int64_t left) HWY_ATTR {
      const V x = load_first(d, (logarithm ? from : to) + r * stride + c, left);
      const V y = logarithm ? hn::Sub(hn::Sub(x, max[v]), sum[v]) : hn::Mul(x, sum[v]);
      store_first(y, d, to + r * stride + c, left);
    });
  }
}

// Columns [begin, end) of all matrices, one matrix after the other.
void softmax_columns(bool logarithm, const float* x, float* y, int64_t rows, int64_t cols,
                     int64_t begin, int64_t end) {
  while (begin < end) {
    const int64_t matrix = begin / cols, first = begin % cols;
    const int64_t last = std::min(cols, first + end - begin);
    const float* from = x + matrix * rows * cols;
    float* to = y + matrix * rows * cols;
    int64_t c = first;
    for (; c + 3 * kLanes < last; c += 4 * kLanes) {
      softmax_some_columns<4>(logarithm, from + c, to + c, cols, rows, last - c);
    }
    for (; c < last; c += kLanes) {
      softmax_some_columns<1>(logarithm, from + c, to + c, cols, rows, last - c);
    }
    begin += last - first;
  }
}

// Rows that would leave most of a vector empty, many side by side.
constexpr int64_t kShortRow = 12;

void softmax_short_rows(bool logarithm, const RowArguments& r, int64_t begin, int64_t end) {
  constexpr int64_t kTogether = 64;
  float columns[kShortRow * kTogether];
  for (int64_t row = begin; row < end; row += kTogether) {
    const int64_t count = std::min(kTogether, end - row);
    const float* from = r.x + row * r.x_stride;
    float* to = r.y + row * r.y_stride;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < r.cols; ++c) columns[c * count + i] = from[i * r.x_stride + c];
    }
    softmax_columns(logarithm, columns, columns, r.cols, count, 0, count);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < r.cols; ++c) to[i * r.y_stride + c] = columns[c * count + i];
    }
  }
}

// to = (x scale + shift) weight + bias.
HWY_INLINE void normalize_row(const RowArguments& r, float scale, float shift, const float* from,
                              float* to) {
  const auto normal = [&](int64_t i) HWY_ATTR {
    const int64_t left = r.cols - i;
    const V x = hn::MulAdd(load_first(d, from + i, left), hn::Set(d, scale), hn::Set(d, shift));
    const V weight = r.weight ? load_first(d, r.weight + i, left) : hn::Set(d, 1.0f);
    return hn::MulAdd(x, weight, r.bias ? load_first(d, r.bias + i, left) : hn::Zero(d));
  };
  if (r.cols < kLanes) return store_first(normal(0), d, to, r.cols);
  // The last vector is a whole one: what follows a partial one in memory, which is the next row
  // where this is in place, would be read only when that had left for the cache.
  const int64_t last = r.cols - kLanes;
  const V end = normal(last);
  for (int64_t i = 0; i < last; i += kLanes) hn::StoreU(normal(i), d, to + i);
  hn::StoreU(end, d, to + last);
}

// By PyTorch's formula, x scale - mean scale: rows of one number show how it rounds.
HWY_INLINE void layer_norm_row(const RowArguments& r, const float* from, float* to) {
  float mean, variance;
  moments(from, r.cols, &mean, &variance);
  const float scale = 1 / std::sqrt(variance + r.eps);
  normalize_row(r, scale, -scale * mean, from, to);
}

using DRows = hn::FixedTag<float, kRowsTogether>;

// The sum of the blocks of four lanes.
template <class DV>
HWY_INLINE hn::Vec<DRows> sum_of_blocks(DV, hn::Vec<DV> v) {
  if constexpr (std::is_same_v<DV, DRows>) {
    return v;
  } else {
    constexpr hn::Half<DV> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sum of the lanes of each of four vectors.
HWY_INLINE hn::Vec<DRows> sums_of_lanes(const V (&v)[kRowsTogether]) {
  using Pairs = hn::Repartition<uint64_t, D>;
  const auto fold = [](V a, V b) HWY_ATTR {  // to sums of a, b, a, b in each block
    return hn::BitCast(Pairs(),
                       hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto low = fold(v[0], v[1]), high = fold(v[2], v[3]);
  return sum_of_blocks(d, hn::Add(hn::BitCast(d, hn::InterleaveLower(Pairs(), low, high)),
                                  hn::BitCast(d, hn::InterleaveUpper(Pairs(), low, high))));
}

// The sums of function(row, x) of four rows from `from` on.
template <class Function>
HWY_INLINE hn::Vec<DRows> sums_of_rows(const RowArguments& r, const float* from,
                                       const Function& function) {
  V sums[kRowsTogether] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + kLanes <= r.cols; i += kLanes) {
    HWY_UNROLL(4)
    for (int j = 0; j < kRowsTogether; ++j) {
      sums[j] = hn::Add(sums[j], function(j, hn::LoadU(d, from + j * r.x_stride + i)));
    }
  }
  if (i < r.cols) {
    const auto inside = hn::FirstN(d, static_cast<size_t>(r.cols - i));
    HWY_UNROLL(4)
    for (int j = 0; j < kRowsTogether; ++j) {
      const V value = function(j, load_first(d, from + j * r.x_stride + i, r.cols - i));
      sums[j] = hn::Add(sums[j], hn::IfThenElseZero(inside, value));
    }
  }
  return sums_of_lanes(sums);
}

// Some rows, four by four: none waits for the sums and roots of others, and what is needed of them
// next has long been there.
constexpr int64_t kNormBlock = 16;
HWY_INLINE void layer_norm_block(const RowArguments& r, const float* from, float* to,
                                 int64_t row_count) {
  constexpr DRows rows;
  const auto count = hn::Set(rows, static_cast<float>(r.cols));
  HWY_ALIGN float mean[kNormBlock], scale[kNormBlock];
  for (int64_t i = 0; i < row_count; i += kRowsTogether) {
    const auto sums = sums_of_rows(r, from + i * r.x_stride, [](int, V v) HWY_ATTR { return v; });
    hn::Store(hn::Div(sums, count), rows, mean + i);
  }
  for (int64_t i = 0; i < row_count; i += kRowsTogether) {
    const auto squares = sums_of_rows(r, from + i * r.x_stride, [&](int j, V v) HWY_ATTR {
      const V distance = hn::Sub(v, hn::Set(d, mean[i + j]));
      return hn::Mul(distance, distance);
    });
    const auto variance = hn::Add(hn::Div(squares, count), hn::Set(rows, r.eps));
    hn::Store(hn::Div(hn::Set(rows, 1.0f), hn::Sqrt(variance)), rows, scale + i);
  }
  for (int64_t i = 0; i < row_count; ++i) {
    normalize_row(r, scale[i], -scale[i] * mean[i], from + i * r.x_stride, to + i * r.y_stride);
  }
}

HWY_INLINE void l2_normalize_row(const float* from, float* to, int64_t cols, float eps) {
  const float squares = sum_of(from, cols, [](V v) HWY_ATTR { return hn::Mul(v, v); });
  const float norm = std::sqrt(squares);
  const V divisor = hn::Set(d, norm < eps ? eps : norm);
  for (int64_t i = 0; i < cols; i += kLanes) {
    store_first(hn::Div(load_first(d, from + i, cols - i), divisor), d, to + i, cols - i);
  }
}

// row(from, to) of rows [begin, end).
template <class Row>
HWY_INLINE void each_row(const RowArguments& r, int64_t begin, int64_t end, const Row& row) {
  for (int64_t i = begin; i < end; ++i) row(r.x + i * r.x_stride, r.y + i * r.y_stride);
}

void sum_rows(const RowArguments& r, int64_t begin, int64_t end) {
  each_row(r, begin, end,
           [&](const float* from, float* to) HWY_ATTR { *to = sum_row(from, r.cols); });
}
void moments_of_rows(const RowArguments& r, int64_t begin, int64_t end) {
  each_row(r, begin, end, [&](const float* from, float* to) HWY_ATTR {
    moments(from, r.cols, to, r.variance + (to - r.y));
  });
}
void softmax_rows(const RowArguments& r, int64_t begin, int64_t end) {
  if (selection::kIsWhole && r.cols <= kShortRow) {
    return softmax_short_rows(false, r, begin, end);
  }
  each_row(r, begin, end,
           [&](const float* from, float* to) HWY_ATTR { softmax_row(from, to, r.cols); });
}
void log_softmax_rows(const RowArguments& r, int64_t begin, int64_t end) {
  if (selection::kIsWhole && r.cols <= kShortRow) {
    return softmax_short_rows(true, r, begin, end);
  }
  each_row(r, begin, end,
           [&](const float* from, float* to) HWY_ATTR { log_softmax_row(from, to, r.cols); });
}
void layer_norm_rows(const RowArguments& r, int64_t begin, int64_t end) {
  constexpr int64_t kMostCols = 1024;
  while (r.cols <= kMostCols && begin + kRowsTogether <= end) {
    const int64_t count = std::min(kNormBlock, (end - begin) / kRowsTogether * kRowsTogether);
    layer_norm_block(r, r.x + begin * r.x_stride, r.y + begin * r.y_stride, count);
    begin += count;
  }
  each_row(r, begin, end,
           [&](const float* from, float* to) HWY_ATTR { layer_norm_row(r, from, to); });
}
void l2_normalize_rows(const RowArguments& r, int64_t begin, int64_t end) {
  each_row(r, begin, end, [&](const float* from, float* to) HWY_ATTR {
    l2_normalize_row(from, to, r.cols, r.eps);
  });
}

// Up to kVectors * kLanes columns: sums[c] = the sum over the rows of x[r, c] or, with `center`, of
// (x[r, c] - center[c])^2.
template <int kVectors>
HWY_INLINE void sum_columns(const float* x, int64_t stride, const float* center, float* sums,
                            int64_t rows, int64_t cols) {
  constexpr int64_t kBlock = 256;  // so that no sum grows long
  V mean[kVectors], total[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    total[v] = hn::Zero(d);
    mean[v] = center ? load_first(d, center + v * kLanes, cols - v * kLanes) : total[v];
  }
  for (int64_t begin = 0; begin < rows; begin += kBlock) {
    const int64_t end = std::min(rows, begin + kBlock);
    V sum[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
    for (int64_t row = begin; row < end; ++row) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const V at = load_first(d, x + row * stride + v * kLanes, cols - v * kLanes);
        const V distance = hn::Sub(at, mean[v]);
        sum[v] = center ? hn::MulAdd(distance, distance, sum[v]) : hn::Add(sum[v], at);
      }
    }
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) total[v] = hn::Add(total[v], sum[v]);
  }
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    store_first(total[v], d, sums + v * kLanes, cols - v * kLanes);
  }
}

void column_sums(const float* x, int64_t stride, const float* center, float* sums, int64_t rows,
                 int64_t cols) {
  int64_t i = 0;
  for (; i + 4 * kLanes <= cols; i += 4 * kLanes) {
    sum_columns<4>(x + i, stride, center ? center + i : nullptr, sums + i, rows, 4 * kLanes);
  }
  for (; i < cols; i += kLanes) {
    sum_columns<1>(x + i, stride, center ? center + i : nullptr, sums + i, rows, cols - i);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(sum_rows);
HWY_EXPORT(moments_of_rows);
HWY_EXPORT(softmax_rows);
HWY_EXPORT(log_softmax_rows);
HWY_EXPORT(softmax_columns);
HWY_EXPORT(layer_norm_rows);
HWY_EXPORT(l2_normalize_rows);
HWY_EXPORT(column_sums);

namespace {

constexpr int64_t kElementsPerTask = int64_t{1} << 16;

void run(RowFunction* function, const RowArguments& arguments, int64_t rows) {
  // In whole groups of rows, so that no result depends on the number of threads.
  const int64_t groups = kElementsPerTask / kRowsTogether / std::max<int64_t>(1, arguments.cols);
  const int64_t grain = std::max<int64_t>(1, groups) * kRowsTogether;
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) { function(arguments, begin, end); });
}

// Over pixels and channels of each group of one picture of rows * columns elements, in which column
// c is a part of channel c % channels: the mean of what column_sums() sums, for all columns.
void group_means(const float* x, int64_t stride, int64_t rows, int64_t columns, int64_t channels,
                 int64_t groups, const float* center, float* means) {
  const int64_t grain =
      std::max<int64_t>(64, kElementsPerTask / std::max<int64_t>(1, rows) / 16 * 16);
  parallel_for(columns, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(column_sums)
    (x + begin, stride, center ? center + begin : nullptr, means + begin, rows, end - begin);
  });
  const int64_t width = channels / groups;
  for (int64_t first = 0; first < channels; first += width) {
    double sum = 0;
    for (int64_t c = first; c < columns; c += channels) {
      for (int64_t i = 0; i < width; ++i) sum += static_cast<double>(means[c + i]);
    }
    const auto count = static_cast<double>(rows * columns / groups);
    for (int64_t c = first; c < columns; c += channels) {
      std::fill_n(means + c, width, static_cast<float>(sum / count));
    }
  }
}

}  // namespace

void row_sums_f32(const float* x, float* out, int64_t rows, int64_t cols) {
  run(&HWY_DYNAMIC_DISPATCH(sum_rows),
      {.x = x, .x_stride = cols, .y = out, .y_stride = 1, .cols = cols}, rows);
}

void row_moments_f32(const float* x, float* mean, float* variance, int64_t rows, int64_t cols) {
  run(&HWY_DYNAMIC_DISPATCH(moments_of_rows),
      {.x = x, .x_stride = cols, .y = mean, .y_stride = 1, .cols = cols, .variance = variance},
      rows);
}

void softmax_rows_f32(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows,
                      int64_t cols) {
  run(&HWY_DYNAMIC_DISPATCH(softmax_rows), {x, x_stride, y, y_stride, cols}, rows);
}

void log_softmax_rows_f32(const float* x, int64_t x_stride, float* y, int64_t y_stride,
                          int64_t rows, int64_t cols) {
  run(&HWY_DYNAMIC_DISPATCH(log_softmax_rows), {x, x_stride, y, y_stride, cols}, rows);
}

namespace {

// Tasks begin at multiples of some columns that a vector divides.
void run_columns(bool logarithm, const float* x, float* y, int64_t matrices, int64_t rows,
                 int64_t cols) {
  constexpr int64_t kUnit = 64;
  const int64_t grain = std::max<int64_t>(1, kElementsPerTask / rows / kUnit) * kUnit;
  parallel_for(matrices * cols, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(softmax_columns)(logarithm, x, y, rows, cols, begin, end);
  });
}

}  // namespace

void softmax_columns_f32(const float* x, float* y, int64_t matrices, int64_t rows, int64_t cols) {
  run_columns(false, x, y, matrices, rows, cols);
}

void log_softmax_columns_f32(const float* x, float* y, int64_t matrices, int64_t rows,
                             int64_t cols) {
  run_columns(true, x, y, matrices, rows, cols);
}

void layer_norm_rows_f32(const float* x, int64_t x_stride, const float* weight, const float* bias,
                         float* y, int64_t y_stride, int64_t rows, int64_t cols, float eps) {
  run(&HWY_DYNAMIC_DISPATCH(layer_norm_rows), {x, x_stride, y, y_stride, cols, eps, weight, bias},
      rows);
}

void l2_normalize_rows_f32(const float* x, int64_t x_stride, float* y, int64_t y_stride,
                           int64_t rows, int64_t cols, float eps) {
  run(&HWY_DYNAMIC_DISPATCH(l2_normalize_rows), {x, x_stride, y, y_stride, cols, eps}, rows);
}

void group_norm_nhwc_f32(int64_t batch, int64_t pixels, int64_t channels, int64_t groups,
                         const float* x, int64_t x_stride, const float* weight, const float* bias,
                         float eps, const Activation& activation, float* y, int64_t y_stride) {
  // Pixels of few channels, where they lie together, are taken for one.
  constexpr int64_t kColumns = 64;
  int64_t rows = pixels, columns = channels;
  if (x_stride == channels && y_stride == channels) {
    for (; 2 * columns <= kColumns && rows % 2 == 0; rows /= 2) columns *= 2;
    x_stride = y_stride = columns;
  }
  const Scratch<float> means(columns), variances(columns), scale(columns), shift(columns);
  for (int64_t n = 0; n < batch; ++n, x += rows * x_stride, y += rows * y_stride) {
    group_means(x, x_stride, rows, columns, channels, groups, nullptr, means.data());
    group_means(x, x_stride, rows, columns, channels, groups, means.data(), variances.data());
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t c = i % channels;
      scale[i] = (weight ? weight[c] : 1) / std::sqrt(variances[i] + eps);
      shift[i] = (bias ? bias[c] : 0) - means[i] * scale[i];
    }
    scale_shift_rows_f32(rows, columns, x, x_stride, scale.data(), shift.data(), activation, y,
                         y_stride);
  }
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
