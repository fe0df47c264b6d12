// Products of a matrix with a few vectors, which read a weight matrix once, where it is, and do not
// pack it first. Either each value of C is a dot product of a row of A and a column of B, both
// contiguous, or C is made of the rows of B. Included once per target.

#if defined(TORCHLET_KERNELS_GEMM_THIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_GEMM_THIN_INL_H_
#undef TORCHLET_KERNELS_GEMM_THIN_INL_H_
#else
#define TORCHLET_KERNELS_GEMM_THIN_INL_H_
#endif

#include <hwy/highway.h>

#include "base/selection.h"
#include "kernels/gemm/gemm_driver.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// R rows of A times S columns of B at (i, j). kFetches: B comes from memory. What the processor
// fetches by itself ends with each page, and columns are often shorter.
template <int R, int S, bool kFetches = false, typename T>
HWY_NOINLINE void multiply_dots(const ThinProduct<T>& p, int64_t i, int64_t j) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  const T* HWY_RESTRICT a = p.a.data + i * p.a.row_stride;
  const T* HWY_RESTRICT b = p.b.data + j * p.b.col_stride;
  V acc[R][S];
  HWY_UNROLL(2)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int s = 0; s < S; ++s) acc[r][s] = hn::Zero(d);
  }
  // load(pointer): the next kLanes values, or what is left of them.
  const auto step = [&](const auto& load) HWY_ATTR {
    V av[R];
    HWY_UNROLL(2)
    for (int r = 0; r < R; ++r) av[r] = load(a + r * p.a.row_stride);
    HWY_UNROLL(4)
    for (int s = 0; s < S; ++s) {
      if constexpr (kFetches) __builtin_prefetch(b + (s + 2 * S) * p.b.col_stride, 0, 2);
      const V bv = load(b + s * p.b.col_stride);
      HWY_UNROLL(2)
      for (int r = 0; r < R; ++r) acc[r][s] = multiply_add(av[r], bv, acc[r][s]);
    }
    a += kLanes;
    b += kLanes;
  };
  int64_t left = p.k;
  for (; left >= kLanes; left -= kLanes) {
    step([&](const T* from) HWY_ATTR { return hn::LoadU(d, from); });
  }
  if (left > 0) step([&](const T* from) HWY_ATTR { return load_first(d, from, left); });

  const GemmEpilogue<T>& e = p.epilogue;
  HWY_UNROLL(2)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int s = 0; s < S; ++s) {
      T* out = p.c + (i + r) * p.c_row_stride + (j + s) * p.c_col_stride;
      T value = 0;
      if constexpr (std::is_floating_point_v<T>) {
        value = hn::GetLane(hn::SumOfLanes(d, acc[r][s]));
      } else {  // GCC's sum of 512 bits is one of signed numbers, which may not overflow
        HWY_ALIGN T lanes[kLanes];
        hn::Store(acc[r][s], d, lanes);
        for (const T lane : lanes) value += lane;
      }
      if (e.accumulate) value += *out;
      if (e.row_bias) value += e.row_bias[i + r];
      if (e.col_bias) value += e.col_bias[j + s];
      if constexpr (std::is_floating_point_v<T>) {
        value = value < e.min ? e.min : value;  // in this form a NaN stays
        value = value > e.max ? e.max : value;
      }
      *out = value;
    }
  }
}

// 4, 2 or 1 of them: one sum waits for itself.
template <int R, typename T>
HWY_INLINE void multiply_columns(const ThinProduct<T>& p, int64_t i, int64_t j, int64_t columns) {
  if (columns == 4) return multiply_dots<R, 4>(p, i, j);
  if (columns == 2) return multiply_dots<R, 2>(p, i, j);
  multiply_dots<R, 1>(p, i, j);
}

template <typename T>
void multiply_thin_t(const ThinProduct<T>& p, int64_t rows, int64_t begin, int64_t end) {
  constexpr bool kTall = std::is_same_v<T, float>;
  int64_t j = begin;
  if constexpr (kTall && selection::kIsWhole) {
    constexpr int64_t kStreamed = int64_t{1} << 18;  // 1 MB, which no second-level cache keeps
    const bool streams = rows == 1 && (end - begin) * p.b.col_stride >= kStreamed;
    for (; streams && j + 4 <= end; j += 4) multiply_dots<1, 4, true>(p, 0, j);
  }
  while (j < end) {
    const int64_t left = end - j, columns = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    for (int64_t i = 0; i < rows;) {
      const bool tall = kTall && rows - i >= 2;
      if (tall) {
        multiply_columns<kTall ? 2 : 1>(p, i, j, columns);
      } else {
        multiply_columns<1>(p, i, j, columns);
      }
      i += tall ? 2 : 1;
    }
    j += columns;
  }
}

// A few rows of B at a time, so that each is read as a stream and C, which the first-level cache
// holds, not too often; columns that are no whole vector last, with their sums in registers.
template <int R, typename T>
void add_rows_t(const RowSum<T>& p) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  const auto factor = [&](int64_t r, int64_t l) HWY_ATTR {
    return hn::Set(d, p.a.data[r * p.a.row_stride + l * p.a.col_stride]);
  };
  const int64_t rest = p.n % kLanes, whole = p.n - rest;
  const auto add = [&](auto count, int64_t l) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    V factors[R][kCount];
    HWY_UNROLL(2)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(4)
      for (int i = 0; i < kCount; ++i) factors[r][i] = factor(r, l + i);
    }
    const T* HWY_RESTRICT b = p.b.data + l * p.b.stride;
    for (int64_t j = 0; j < whole; j += kLanes) {
      V sums[R];
      HWY_UNROLL(2)
      for (int r = 0; r < R; ++r) sums[r] = hn::Load(d, p.c + r * p.c_stride + j);
      HWY_UNROLL(4)
      for (int i = 0; i < kCount; ++i) {
        const V row = keep_in_register(hn::LoadU(d, b + i * p.b.stride + j));
        HWY_UNROLL(2)
        for (int r = 0; r < R; ++r) sums[r] = hn::MulAdd(factors[r][i], row, sums[r]);
      }
      HWY_UNROLL(2)
      for (int r = 0; r < R; ++r) hn::Store(sums[r], d, p.c + r * p.c_stride + j);
    }
  };
  int64_t l = 0;
  for (; l + 4 <= p.k; l += 4) add(std::integral_constant<int, 4>(), l);
  for (; l < p.k; ++l) add(std::integral_constant<int, 1>(), l);
  if (rest == 0) return;
  V sums[R];
  HWY_UNROLL(2)
  for (int r = 0; r < R; ++r) sums[r] = hn::Zero(d);
  for (l = 0; l < p.k; ++l) {
    const V row = load_first(d, p.b.data + l * p.b.stride + whole, rest);
    HWY_UNROLL(2)
    for (int r = 0; r < R; ++r) sums[r] = hn::MulAdd(factor(r, l), row, sums[r]);
  }
  HWY_UNROLL(2)
  for (int r = 0; r < R; ++r) hn::Store(sums[r], d, p.c + r * p.c_stride + whole);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_GEMM_THIN_INL_H_
