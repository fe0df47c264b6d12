// The micro-kernel of NHWC convolutions: a few pixels times one panel of packed weights, for the
// instruction set that is being compiled.

#if defined(TORCHLET_KERNELS_GEMM_NHWC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_GEMM_NHWC_INL_H_
#undef TORCHLET_KERNELS_GEMM_NHWC_INL_H_
#else
#define TORCHLET_KERNELS_GEMM_NHWC_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/activation-inl.h"
#include "kernels/gemm_nhwc.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TileD = hn::ScalableTag<float>;
using TileV = hn::Vec<TileD>;
constexpr TileD d;
constexpr int kTileLanes = static_cast<int>(HWY_LANES(float));

// Vectors of a full panel, and the most rows of a tile: rows * vectors sums, the vectors of the
// panel and a value of A have to fit the vector registers, 32 of them with AVX-512 and NEON, 16
// elsewhere.
constexpr int kTileVectors = 2;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kTileRows = 14;
#elif HWY_TARGET == HWY_NEON
constexpr int kTileRows = 8;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6;
#else
constexpr int kTileRows = 4;
#endif
constexpr int kPanelWidth = kTileVectors * kTileLanes;

// C[R, columns] = A[R, k] B[k, columns] of one tile, then the part of the epilogue that costs
// nothing in registers: bias, residual, clamp.
template <int R, int V>
HWY_NOINLINE void multiply_tile(const TileJob& job, int64_t row) {
  constexpr int kLanes = kTileLanes;
  TileV sum[R][V];
  float* out = job.c + row * job.c_stride;
  const int64_t last = job.columns - (V - 1) * kLanes;  // columns of the last vector
  if (job.partial) {
    const float* partial = job.partial + row * job.partial_stride;
    HWY_UNROLL(14)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) {
        const float* from = partial + r * job.partial_stride + v * kLanes;
        sum[r][v] = v + 1 < V ? hn::LoadU(d, from) : load_first(d, from, last);
      }
    }
  } else {
    TileV bias[V];
    HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) {
      if (!job.bias)
        bias[v] = hn::Zero(d);
      else if (v + 1 < V)
        bias[v] = hn::LoadU(d, job.bias + v * kLanes);
      else
        bias[v] = load_first(d, job.bias + v * kLanes, last);
    }
    HWY_UNROLL(14)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) sum[r][v] = bias[v];
    }
  }

  for (int64_t s = 0; s < job.segment_count; ++s) {
    const TileSegment& segment = job.segments[s];
    const int64_t stride = segment.a_row_stride;
    const float* b = job.b + segment.b_row * (V * kLanes);
    // Three rows share a pointer, which leaves registers for the rest.
    const float* a[(R + 2) / 3];
    HWY_UNROLL(5)
    for (int i = 0; i < (R + 2) / 3; ++i) a[i] = segment.a + (row + 3 * i) * stride;
    for (int64_t k = 0; k < segment.k; ++k) {
      TileV bv[V];
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) bv[v] = hn::Load(d, b + v * kLanes);
      b += V * kLanes;
      HWY_UNROLL(14)
      for (int r = 0; r < R; ++r) {
        const TileV av = hn::Set(d, a[r / 3][(r % 3) * stride + k]);
        HWY_UNROLL(2)
        for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(av, bv[v], sum[r][v]);
      }
    }
  }

  const TileV lo = hn::Set(d, job.low), hi = hn::Set(d, job.high);
  const float* residual = job.residual ? job.residual + row * job.residual_stride : nullptr;
  HWY_UNROLL(14)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) {
      TileV value = sum[r][v];
      if (residual) {
        const float* from = residual + r * job.residual_stride + v * kLanes;
        value = hn::Add(value, v + 1 < V ? hn::LoadU(d, from) : load_first(d, from, last));
      }
      value = clamp(value, lo, hi);
      float* to = out + r * job.c_stride + v * kLanes;
      if (v + 1 < V)
        hn::StoreU(value, d, to);
      else
        store_first(value, d, to, last);
    }
  }
}

template <int V>
void multiply_rows(const TileJob& job, int64_t rows) {
  int64_t row = 0;
  for (; row + kTileRows <= rows; row += kTileRows) multiply_tile<kTileRows, V>(job, row);
  constexpr int kHalf = kTileRows == 14 ? 7 : 4;
  for (; row + kHalf <= rows; row += kHalf) multiply_tile<kHalf, V>(job, row);
  for (; row + 4 <= rows; row += 4) multiply_tile<4, V>(job, row);
  for (; row + 2 <= rows; row += 2) multiply_tile<2, V>(job, row);
  if (row < rows) multiply_tile<1, V>(job, row);
}

HWY_INLINE void multiply_panel(const TileJob& job, int64_t rows) {
  if (job.columns <= kTileLanes)
    multiply_rows<1>(job, rows);
  else
    multiply_rows<2>(job, rows);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_GEMM_NHWC_INL_H_
