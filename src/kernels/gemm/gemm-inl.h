// The micro-kernel of a floating-point matrix product and the panel around it, for the instruction
// set that is being compiled. Included once per target by gemm_f32.cc, gemm_f64.cc and gemm_u64.cc.

#if defined(TORCHLET_KERNELS_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_GEMM_INL_H_
#undef TORCHLET_KERNELS_GEMM_INL_H_
#else
#define TORCHLET_KERNELS_GEMM_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/gemm/gemm_driver.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kRows * kVectors accumulators, kVectors of B and one of A have to fit the vector registers: 32 of
// them with AVX-512 and NEON, 16 elsewhere.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr int kVectors = 3;

template <typename T>
using Tag = hn::ScalableTag<T>;

template <typename T>
constexpr int panel_width() {
  return kVectors * static_cast<int>(HWY_LANES(T));
}

// C[R, V vectors] = A[R, k] B[k, V vectors], then the epilogue, whose biases begin at this tile.
template <int R, int V, typename T>
HWY_NOINLINE void multiply_tile(int64_t k, const T* HWY_RESTRICT a, int64_t a_row_stride,
                                int64_t a_col_stride, const T* HWY_RESTRICT b, int64_t b_stride,
                                T* HWY_RESTRICT c, int64_t c_stride,
                                const GemmEpilogue<T>& epilogue) {
  const Tag<T> d;
  constexpr int kLanes = static_cast<int>(HWY_LANES(T));
  hn::Vec<Tag<T>> acc[R][V];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(3)
    for (int v = 0; v < V; ++v) acc[r][v] = hn::Zero(d);
  }
  for (; k > 0; --k) {
    hn::Vec<Tag<T>> bv[V];
    HWY_UNROLL(3)
    for (int v = 0; v < V; ++v) bv[v] = hn::LoadU(d, b + v * kLanes);
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const auto av = hn::Set(d, a[r * a_row_stride]);
      HWY_UNROLL(3)
      for (int v = 0; v < V; ++v) acc[r][v] = multiply_add(av, bv[v], acc[r][v]);
    }
    a += a_col_stride;
    b += b_stride;
  }
  [[maybe_unused]] const auto lo = hn::Set(d, epilogue.min);
  [[maybe_unused]] const auto hi = hn::Set(d, epilogue.max);
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(3)
    for (int v = 0; v < V; ++v) {
      T* out = c + r * c_stride + v * kLanes;
      auto value = acc[r][v];
      if (epilogue.accumulate) value = hn::Add(value, hn::LoadU(d, out));
      if (epilogue.row_bias) value = hn::Add(value, hn::Set(d, epilogue.row_bias[r]));
      if (epilogue.col_bias) value = hn::Add(value, hn::LoadU(d, epilogue.col_bias + v * kLanes));
      if constexpr (std::is_floating_point_v<T>) value = clamp(value, lo, hi);
      hn::StoreU(value, d, out);
    }
  }
}

// R rows times one panel, the first `n` columns of which exist.
template <int R, typename T>
void multiply_rows(int64_t k, ConstMatrix<T> a, Panel<T> b, int64_t n, T* c, int64_t c_stride,
                   const GemmEpilogue<T>& epilogue) {
  constexpr int kLanes = static_cast<int>(HWY_LANES(T));
  constexpr int kWidth = panel_width<T>();
  constexpr int kMiddle = std::is_floating_point_v<T> ? 2 : 3;  // integers are too rare for all
  const auto multiply = n <= kLanes             ? multiply_tile<R, 1, T>
                        : n <= kMiddle * kLanes ? multiply_tile<R, kMiddle, T>
                                                : multiply_tile<R, 3, T>;
  if (n == kWidth || n == kLanes || n == kMiddle * kLanes) {
    return multiply(k, a.data, a.row_stride, a.col_stride, b.data, b.stride, c, c_stride, epilogue);
  }

  // A partial vector goes through a tile of its own, so that nothing beyond column n is touched.
  HWY_ALIGN T out[R * kWidth];
  HWY_ALIGN T bias[kWidth];
  const size_t row_bytes = static_cast<size_t>(n) * sizeof(T);
  GemmEpilogue<T> e = epilogue;
  if (e.accumulate) {
    std::memset(out, 0, sizeof(out));
    for (int r = 0; r < R; ++r) std::memcpy(out + r * kWidth, c + r * c_stride, row_bytes);
  }
  if (e.col_bias) {
    std::memset(bias, 0, sizeof(bias));
    std::memcpy(bias, e.col_bias, row_bytes);
    e.col_bias = bias;
  }
  multiply(k, a.data, a.row_stride, a.col_stride, b.data, b.stride, out, kWidth, e);
  for (int r = 0; r < R; ++r) std::memcpy(c + r * c_stride, out + r * kWidth, row_bytes);
}

// Rows outside, panels inside: kRows rows of A stay in the first-level cache, the panels in the
// second, and C is written a few rows at a time.
template <typename T>
void multiply_block_t(const BlockProduct<T>& p) {
  const auto multiply_stripe = [&](int64_t row, const auto& multiply) {
    const ConstMatrix<T> a{p.a.data + row * p.a.row_stride, p.a.row_stride, p.a.col_stride};
    GemmEpilogue<T> epilogue = p.epilogue;
    if (epilogue.row_bias) epilogue.row_bias += row;
    const Panel<T>* panel = p.b;
    for (int64_t column = 0; column < p.n; column += panel_width<T>()) {
      const int64_t n = std::min<int64_t>(panel_width<T>(), p.n - column);
      if (p.epilogue.col_bias) epilogue.col_bias = p.epilogue.col_bias + column;
      multiply(p.k, a, *panel++, n, p.c + row * p.c_stride + column, p.c_stride, epilogue);
    }
  };
  int64_t row = 0;
  for (; row + kRows <= p.m; row += kRows) multiply_stripe(row, multiply_rows<kRows, T>);
  if constexpr (std::is_floating_point_v<T>) {
    for (; row + 4 <= p.m; row += 4) multiply_stripe(row, multiply_rows<4, T>);
  }
  if constexpr (std::is_same_v<T, float>) {  // doubles are too rare for kernels of all heights
    for (; row + 2 <= p.m; row += 2) multiply_stripe(row, multiply_rows<2, T>);
  }
  for (; row < p.m; ++row) multiply_stripe(row, multiply_rows<1, T>);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_GEMM_INL_H_
