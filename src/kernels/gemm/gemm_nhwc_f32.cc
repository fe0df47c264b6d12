#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_nhwc_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/gemm/half_panels-inl.h"
#include "kernels/simd/activation-inl.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"
#include "kernels/simd/split.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using Vec = hn::Vec<D>;
constexpr D d;
constexpr int kTileLanes = static_cast<int>(HWY_LANES(float));

// Vectors of a full panel, and the most rows of a tile: rows * vectors sums, the vectors of the
// panel and a value of A have to fit the vector registers, 32 of them with AVX-512 and 64-bit NEON,
// 16 elsewhere.
constexpr int kVecectors = 2;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kTileRows = 14;
#elif HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
constexpr int kTileRows = 8;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6;
#else
constexpr int kTileRows = 4;
#endif
constexpr int kPanelWidth = kVecectors * kTileLanes;

// Loads and stores of the last vector of a panel, of which `count` >= 1 lanes exist.
class LastVector {
 public:
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL  // where a mask costs nothing
  HWY_INLINE explicit LastVector(int64_t count)
      : mask_(hn::FirstN(d, static_cast<size_t>(count))) {}
  HWY_INLINE Vec load(const float* from) const { return hn::MaskedLoad(mask_, d, from); }
  HWY_INLINE void store(Vec v, float* to) const { hn::BlendedStore(v, mask_, d, to); }

 private:
  hn::Mask<D> mask_;
#else
  HWY_INLINE explicit LastVector(int64_t count) : count_(count) {}
  HWY_INLINE Vec load(const float* from) const { return load_first(d, from, count_); }
  HWY_INLINE void store(Vec v, float* to) const { store_first(v, d, to, count_); }

 private:
  int64_t count_;
#endif
};

// C[R, columns] = A[R, k] B[k, columns] of one tile, then the part of the epilogue that costs
// nothing in registers: bias, residual, clamp or hardswish.
template <int R, int V, bool kFetch = false>
HWY_NOINLINE void multiply_tile(const TileJob& job, int64_t row, const float* ahead = nullptr,
                                int64_t ahead_step = 0) {
  constexpr int kLanes = kTileLanes;
  Vec sum[R][V];
  float* out = job.c + row * job.c_stride;
  const LastVector last(job.columns - (V - 1) * kLanes);
  if (job.partial) {
    const float* partial = job.partial + row * job.partial_stride;
    HWY_UNROLL(14)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) {
        const float* from = partial + r * job.partial_stride + v * kLanes;
        sum[r][v] = v + 1 < V ? hn::LoadU(d, from) : last.load(from);
      }
    }
  } else {
    Vec bias[V];
    HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) {
      if (!job.bias)
        bias[v] = hn::Zero(d);
      else if (v + 1 < V)
        bias[v] = hn::LoadU(d, job.bias + v * kLanes);
      else
        bias[v] = last.load(job.bias + v * kLanes);
    }
    HWY_UNROLL(14)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) sum[r][v] = bias[v];
    }
  }

  for (int64_t s = 0; s < job.segment_count; ++s) {
    const TileSegment<float>& segment = job.segments[s];
    const int64_t stride = segment.a_row_stride;
    // Three rows share a pointer, which leaves registers for the rest.
    const float* a[(R + 2) / 3];
    HWY_UNROLL(5)
    for (int i = 0; i < (R + 2) / 3; ++i) a[i] = segment.a + (row + 3 * i) * stride;
    const auto multiply = [&](const auto* b) HWY_ATTR {
      for (int64_t k = 0; k < segment.k; ++k) {
        Vec bv[V];
        HWY_UNROLL(2)
        for (int v = 0; v < V; ++v) bv[v] = load_floats(d, b + v * kLanes);
        b += V * kLanes;
        if constexpr (kFetch) {
          __builtin_prefetch(ahead, 0, 2);
          ahead += ahead_step;
        }
        HWY_UNROLL(14)
        for (int r = 0; r < R; ++r) {
          const Vec av = hn::Set(d, a[r / 3][(r % 3) * stride + k]);
          HWY_UNROLL(2)
          for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(av, bv[v], sum[r][v]);
        }
      }
    };
    const Panels<float> panel = job.b + segment.b_row * (V * kLanes);
    if constexpr (kHasHalfPanels) {
      if (panel.half()) {
        multiply(reinterpret_cast<const hwy::float16_t*>(panel.half()));
        continue;
      }
    }
    multiply(panel.data());
  }

  const Vec lo = hn::Set(d, job.low), hi = hn::Set(d, job.high);
  const float* residual = job.residual ? job.residual + row * job.residual_stride : nullptr;
  const auto store = [&](const auto& function) HWY_ATTR {
    HWY_UNROLL(14)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) {
        Vec value = sum[r][v];
        if (residual) {
          const float* from = residual + r * job.residual_stride + v * kLanes;
          value = hn::Add(value, v + 1 < V ? hn::LoadU(d, from) : last.load(from));
        }
        value = function(value);
        float* to = out + r * job.c_stride + v * kLanes;
        if (v + 1 < V) {
          hn::StoreU(value, d, to);
        } else {
          last.store(value, to);
        }
      }
    }
  };
  if (job.is_gated) {
    store([&](Vec x) HWY_ATTR {
      const Vec gate = hn::MulAdd(x, hn::Set(d, 1.0f / 6), hn::Set(d, 0.5f));
      return hn::Mul(x, clamp(gate, lo, hi));
    });
  } else {
    store([&](Vec x) HWY_ATTR { return clamp(x, lo, hi); });
  }
}

// What tiles fetch ahead: with each step of k the line of the next element, and on by `step`, at
// most a line. What is wanted arrives evenly while the rows go by: in a burst it would hold up the
// panel, which comes from the second-level cache itself.
struct Fetch {
  const float* next;
  int64_t step, tile_count, left;  // floats: of a step, of a tile, in all
};

Fetch fetch_of(const TileJob& job, int64_t rows) {
  int64_t depth = 0;
  for (int64_t s = 0; s < job.segment_count; ++s) depth += job.segments[s].k;
  const int64_t steps = std::max<int64_t>(1, depth * (rows / kTileRows));
  const int64_t step = std::min<int64_t>(16, ceil_div(job.ahead_count, steps));
  return {job.ahead, step, depth * step, job.ahead_count};
}

// A tile of R rows that also fetches ahead, if there is something left to fetch and the panel is
// wide: one of a single vector is not worth a kernel of its own.
template <int R, int V>
HWY_INLINE void multiply_and_fetch(const TileJob& job, int64_t row, Fetch& fetch) {
  if (V == 1 || fetch.left <= 0) return multiply_tile<R, V>(job, row);
  multiply_tile<R, V, V != 1>(job, row, fetch.next, fetch.step);
  fetch.next += fetch.tile_count;
  fetch.left -= fetch.tile_count;
}

template <int V>
void multiply_rows(const TileJob& job, int64_t rows) {
  int64_t row = 0;
  Fetch fetch = fetch_of(job, rows);
  // 15 and 16 rows are better as two tiles of almost the same height.
  const auto takes_full_tile = [](int64_t left) {
    return left >= kTileRows && (kTileRows <= 8 || left == kTileRows || left > 16);
  };
  for (; takes_full_tile(rows - row); row += kTileRows) {
    multiply_and_fetch<kTileRows, V>(job, row, fetch);
  }
  if constexpr (kTileRows > 8) {
    for (; rows - row >= 8; row += 8) multiply_and_fetch<8, V>(job, row, fetch);
    if (rows - row == 7) multiply_and_fetch<7, V>(job, row, fetch), row += 7;
  }
  for (; rows - row >= 4; row += 4) multiply_tile<4, V>(job, row);
  if (rows - row >= 2) multiply_tile<2, V>(job, row), row += 2;
  if (row < rows) multiply_tile<1, V>(job, row);
}

bool has_half_panels_here() { return kHasHalfPanels; }

void widen_here(const Float16* from, int64_t count, float* to) {
  if constexpr (kHasHalfPanels) {
    const auto* halves = reinterpret_cast<const hwy::float16_t*>(from);
    for (int64_t i = 0; i < count; i += kTileLanes) {
      hn::StoreU(load_floats(d, halves + i), d, to + i);
    }
  }
}
void round_here(const float* from, int64_t count, Float16* to) {
  if constexpr (kHasHalfPanels) {
    const hn::Rebind<hwy::float16_t, D> half;
    for (int64_t i = 0; i < count; i += kTileLanes) {
      hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, from + i)), half,
                 reinterpret_cast<hwy::float16_t*>(to) + i);
    }
  }
}

TileShape tile_shape_here() { return {kTileRows, kPanelWidth, kTileLanes, 1}; }

void multiply_panel_here(const TileJob& job, int64_t rows) {
  if (job.columns <= kTileLanes) {
    multiply_rows<1>(job, rows);
  } else {
    multiply_rows<2>(job, rows);
  }
}

// One panel, for an epilogue that does not fit registers.
void multiply_and_finish(const EpilogueF32& epilogue, const float* residual, TileJob job,
                         int64_t rows) {
  if (residual && epilogue.residual_last) {  // which may be the result
    HWY_ALIGN float tile[kTileRows * kPanelWidth];
    float* out = job.c;
    const int64_t out_stride = job.c_stride;
    job.c = tile;
    job.c_stride = kPanelWidth;
    multiply_panel_here(job, rows);
    activate_rows(epilogue.activation, tile, kPanelWidth, rows, job.columns);
    add_rows(residual, epilogue.residual_stride, tile, kPanelWidth, rows, job.columns);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(tile + r * kPanelWidth, job.columns, out + r * out_stride);
    }
    return;
  }
  multiply_panel_here(job, rows);
  activate_rows(epilogue.activation, job.c, job.c_stride, rows, job.columns);
}

void multiply_strip_here(const StripJob<float>& s) {
  const EpilogueF32& epilogue = *s.epilogue;
  const bool has_residual = epilogue.residual && s.is_last;
  const bool is_gated = s.is_last && epilogue.activation.kind == ActivationKind::kHardswish;
  const bool in_registers = !s.is_last || ((is_gated || is_clamp(epilogue.activation)) &&
                                           !(has_residual && epilogue.residual_last));
  Bounds bounds = bounds_of(s.is_last && in_registers ? epilogue.activation : Activation{});
  if (is_gated && in_registers) bounds = {0, 1};
  TileJob job{.segments = s.segments,
              .segment_count = s.segment_count,
              .partial_stride = s.partial_stride,
              .residual_stride = epilogue.residual_stride,
              .low = bounds.low,
              .high = bounds.high,
              .is_gated = is_gated && in_registers,
              .c_stride = s.is_last ? s.output_stride : s.partial_stride,
              .ahead = s.ahead,
              .ahead_count = s.ahead_count};
  for (int64_t column = s.first_column; column < s.last_column; column += kPanelWidth) {
    const int64_t channel = s.channel + column;
    float* partial = s.partial ? s.partial + column - s.first_column : nullptr;
    const float* residual =
        has_residual ? epilogue.residual + s.pixel * epilogue.residual_stride + channel : nullptr;
    job.b = s.b + column * s.depth;
    job.columns = std::min<int64_t>(kPanelWidth, s.last_column - column);
    if (s.ahead_rows > 0) {
      const int64_t width = job.columns <= kTileLanes ? kTileLanes : kPanelWidth;
      job.ahead = (job.b + s.ahead_row * width).fetched();
      job.ahead_count = job.b.fetched_count(s.ahead_rows * width);
    }
    job.bias = epilogue.bias ? epilogue.bias + channel : nullptr;
    job.partial = s.is_first ? nullptr : partial;
    job.residual = epilogue.residual_last ? nullptr : residual;
    job.c = s.is_last ? s.output + s.pixel * s.output_stride + channel : partial;
    if (in_registers) {
      multiply_panel_here(job, s.rows);
    } else {
      multiply_and_finish(epilogue, residual, job, s.rows);
    }
    job.ahead_count = 0;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(has_half_panels_here);
HWY_EXPORT(widen_here);
HWY_EXPORT(round_here);
HWY_EXPORT(tile_shape_here);
HWY_EXPORT(multiply_panel_here);
HWY_EXPORT(multiply_strip_here);

bool has_half_panels() { return HWY_DYNAMIC_DISPATCH(has_half_panels_here)(); }

void widen_panels(Panels<float> from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_here)(from.half(), count, to);
}
void round_panels(const float* from, int64_t count, Float16* to) {
  HWY_DYNAMIC_DISPATCH(round_here)(from, count, to);
}

template <>
TileShape tile_shape<float>() {
  return HWY_DYNAMIC_DISPATCH(tile_shape_here)();
}

void multiply_panel(const TileJob& job, int64_t rows) {
  HWY_DYNAMIC_DISPATCH(multiply_panel_here)(job, rows);
}

namespace {

// Tiles of a strip from which on a panel in Float16 is widened once, and not by each of them.
constexpr int64_t kFewTiles = 4;

[[maybe_unused]] void multiply_widened(const StripJob<float>& all) {
  const TileSegment<float>& last = all.segments[all.segment_count - 1];
  const int64_t row = all.segments[0].b_row, rows = last.b_row + last.k - row;
  const TileShape tile = tile_shape<float>();
  const Scratch<float> wide(rows * tile.width);
  StripJob<float> job = all;
  for (; job.first_column < all.last_column; job.first_column = job.last_column) {
    const int64_t column = job.first_column;
    job.last_column = std::min(column + tile.width, all.last_column);
    const int64_t width = tile.panel_width(job.last_column - column);
    const Panels<float> panel = all.b + column * all.depth;
    widen_panels(panel + row * width, rows * width, wide.data());
    job.b = wide.data() - row * width - column * all.depth;
    if (all.partial) job.partial = all.partial + column - all.first_column;
    if (all.ahead_rows > 0) {
      job.ahead = (panel + all.ahead_row * width).fetched();
      job.ahead_count = panel.fetched_count(all.ahead_rows * width);
      job.ahead_rows = 0;
    }
    HWY_DYNAMIC_DISPATCH(multiply_strip_here)(job);
    job.ahead_count = 0;
  }
}

}  // namespace

void multiply_strip(const StripJob<float>& job) {
  if constexpr (selection::kHasFloat16) {
    if (job.b.bfloat16() && job.segment_count > 0) return multiply_strip_bf16(job);
    const bool has_many_rows = job.rows > kFewTiles * tile_shape<float>().rows;
    if (job.b.half() && has_many_rows && job.segment_count > 0) return multiply_widened(job);
  }
  HWY_DYNAMIC_DISPATCH(multiply_strip_here)(job);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
