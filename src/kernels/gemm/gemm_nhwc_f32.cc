#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_nhwc_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "base/selection.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/gemm/half_panels-inl.h"
#include "kernels/simd/activation-inl.h"
#include "kernels/simd/caches.h"
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
constexpr int kPanelVectors = 2;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kTileRows = 14;
#elif HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
constexpr int kTileRows = 8;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6;
#else
constexpr int kTileRows = 4;
#endif
constexpr int kPanelWidth = kPanelVectors * kTileLanes;

// The last vector of a panel is a half one if no more of its lanes exist: processors that compute
// 512 bits as two halves take half the time for it, others the same.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
using NarrowD = hn::Half<D>;
#else
using NarrowD = D;
#endif

template <class LastD>
HWY_INLINE hn::Vec<LastD> first_lanes([[maybe_unused]] LastD last_d, Vec v) {
  if constexpr (std::is_same_v<LastD, D>) {
    return v;
  } else {
    return hn::LowerHalf(last_d, v);
  }
}

// Loads and stores of the last vector of a panel, of which `count` >= 1 lanes exist.
template <class LastD>
class LastVector {
  using V = hn::Vec<LastD>;

 public:
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL  // where a mask costs nothing
  HWY_INLINE explicit LastVector(int64_t count)
      : mask_(hn::FirstN(LastD(), static_cast<size_t>(count))) {}
  HWY_INLINE V load(const float* from) const { return hn::MaskedLoad(mask_, LastD(), from); }
  HWY_INLINE void store(V v, float* to) const { hn::BlendedStore(v, mask_, LastD(), to); }

 private:
  hn::Mask<LastD> mask_;
#else
  HWY_INLINE explicit LastVector(int64_t count) : count_(count) {}
  HWY_INLINE V load(const float* from) const { return load_first(LastD(), from, count_); }
  HWY_INLINE void store(V v, float* to) const { store_first(v, LastD(), to, count_); }

 private:
  int64_t count_;
#endif
};

// C[R, columns] = A[R, k] B[k, columns] of one tile, then the part of the epilogue that costs
// nothing in registers: bias, residual, clamp or hardswish. The tile has V vectors, of which the
// last one is of LastD.
template <int R, int V, class LastD, bool kFetch = false>
HWY_NOINLINE void multiply_tile(const TileJob& job, int64_t row, const float* ahead = nullptr,
                                int64_t ahead_step = 0) {
  using Last = hn::Vec<LastD>;
  constexpr int kLanes = kTileLanes, kFull = V - 1;
  constexpr LastD last_d;
  static_assert(V <= 2);
  Vec sum[R];  // of the vector before the last, if there is one
  Last last_sum[R];
  const LastVector<LastD> last(job.columns - kFull * kLanes);
  if (job.partial) {
    const float* partial = job.partial + row * job.partial_stride;
    HWY_UNROLL(14)
    for (int r = 0; r < R; ++r) {
      const float* from = partial + r * job.partial_stride;
      if constexpr (kFull > 0) sum[r] = hn::LoadU(d, from);
      last_sum[r] = last.load(from + kFull * kLanes);
    }
  } else {
    const Vec bias = kFull > 0 && job.bias ? hn::LoadU(d, job.bias) : hn::Zero(d);
    const Last last_bias = job.bias ? last.load(job.bias + kFull * kLanes) : hn::Zero(last_d);
    HWY_UNROLL(14)
    for (int r = 0; r < R; ++r) {
      if constexpr (kFull > 0) sum[r] = bias;
      last_sum[r] = last_bias;
    }
  }

  if (selection::kIsWhole && job.is_far) {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        __builtin_prefetch(job.c + (row + r) * job.c_stride + v * kLanes, 1);
        if (job.residual) {
          __builtin_prefetch(job.residual + (row + r) * job.residual_stride + v * kLanes);
        }
      }
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
        const Vec full = load_floats(d, b);
        const Last rest = load_floats(last_d, b + kFull * kLanes);
        b += V * kLanes;
        if constexpr (kFetch) {
          __builtin_prefetch(ahead, 0, 2);
          ahead += ahead_step;
        }
        HWY_UNROLL(14)
        for (int r = 0; r < R; ++r) {
          const float* from = a[r / 3] + (r % 3) * stride + k;
          if constexpr (kFull > 0) {
            const Vec av = hn::Set(d, *from);
            sum[r] = hn::MulAdd(av, full, sum[r]);
            last_sum[r] = hn::MulAdd(first_lanes(last_d, av), rest, last_sum[r]);
          } else {
            last_sum[r] = hn::MulAdd(hn::Set(last_d, *from), rest, last_sum[r]);
          }
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

  if (job.residual) {
    const float* residual = job.residual + row * job.residual_stride;
    HWY_UNROLL(14)
    for (int r = 0; r < R; ++r) {
      const float* from = residual + r * job.residual_stride;
      if constexpr (kFull > 0) sum[r] = hn::Add(sum[r], hn::LoadU(d, from));
      last_sum[r] = hn::Add(last_sum[r], last.load(from + kFull * kLanes));
    }
  }
  Vec low = hn::Set(d, job.low), high = hn::Set(d, job.high);
  if (job.is_gated) {
    const auto gated = [&](auto tag, auto x) HWY_ATTR {
      const auto gate = hn::MulAdd(x, hn::Set(tag, 1.0f / 6), hn::Set(tag, 0.5f));
      return hn::Mul(x, clamp(gate, first_lanes(tag, low), first_lanes(tag, high)));
    };
    HWY_UNROLL(14)
    for (int r = 0; r < R; ++r) {
      if constexpr (kFull > 0) sum[r] = gated(d, sum[r]);
      last_sum[r] = gated(last_d, last_sum[r]);
    }
    high = hn::Inf(d);
    low = hn::Neg(high);
  }
  HWY_UNROLL(14)
  for (int r = 0; r < R; ++r) {
    float* to = job.c + (row + r) * job.c_stride;
    if constexpr (kFull > 0) hn::StoreU(clamp(sum[r], low, high), d, to);
    const Last value = clamp(last_sum[r], first_lanes(last_d, low), first_lanes(last_d, high));
    last.store(value, to + kFull * kLanes);
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

// A narrow panel is not worth a kernel that fetches ahead, nor are few rows, which are rare, one of
// half a vector.
template <int V, class LastD>
void multiply_rows(const TileJob& job, int64_t rows) {
  Fetch fetch = fetch_of(job, rows);
  for_each_tile<kTileRows>(rows, [&](int64_t row, auto count) HWY_ATTR {
    constexpr int kRows = decltype(count)::value;
    using Last = std::conditional_t<(kRows >= 8), LastD, D>;
    constexpr bool kFetches =
        V != 1 && std::is_same_v<LastD, D> && (kRows >= 7 || kRows == kTileRows);
    if (!kFetches || fetch.left <= 0) return multiply_tile<kRows, V, Last>(job, row);
    multiply_tile<kRows, V, Last, kFetches>(job, row, fetch.next, fetch.step);
    fetch.next += fetch.tile_count;
    fetch.left -= fetch.tile_count;
  });
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

template <int V>
void multiply_vectors(const TileJob& job, int64_t rows) {
  const int64_t last_columns = job.columns - (V - 1) * kTileLanes;
  if (last_columns <= static_cast<int64_t>(hn::Lanes(NarrowD()))) {
    multiply_rows<V, NarrowD>(job, rows);
  } else {
    multiply_rows<V, D>(job, rows);
  }
}

void multiply_panel_here(const TileJob& job, int64_t rows) {
  if (job.columns <= kTileLanes) {
    multiply_vectors<1>(job, rows);
  } else {
    multiply_vectors<2>(job, rows);
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
    activate_rows(epilogue.activation, tile, kPanelWidth, tile, kPanelWidth, rows, job.columns);
    add_rows(residual, epilogue.residual_stride, tile, kPanelWidth, rows, job.columns);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(tile + r * kPanelWidth, job.columns, out + r * out_stride);
    }
    return;
  }
  multiply_panel_here(job, rows);
  activate_rows(epilogue.activation, job.c, job.c_stride, job.c, job.c_stride, rows, job.columns);
}

// The products of a strip of one row, several panels at once: memory gives a few streams of weights
// faster than one, and the sums of one panel alone would wait for each other.
class RowSums {
 public:
  explicit RowSums(const StripJob<float>& strip) : s_(strip), end_(strip.first_column) {}

  // The sums of the panel that begins at this column, bias or partial sums included. Columns come
  // in order. Null for several rows, and for the last panels.
  const float* of(int64_t column) {
    if (!selection::kIsWhole || s_.rows > 1) return nullptr;
    if (column == end_ && s_.last_column - column >= kColumns) {
      begin_with(!s_.is_first        ? s_.partial + column - s_.first_column
                 : s_.epilogue->bias ? s_.epilogue->bias + s_.channel + column
                                     : nullptr);
      multiply(column);
      end_ += kColumns;
    }
    return column < end_ ? sums_ + (column - end_ + kColumns) : nullptr;
  }

 private:
  static constexpr int kPanels = 4, kVectors = kPanels * kPanelVectors;
  static constexpr int64_t kColumns = kPanels * kPanelWidth;

  void begin_with(const float* sums) {
    if (sums) {
      std::copy_n(sums, kColumns, sums_);
    } else {
      std::fill_n(sums_, kColumns, 0.0f);
    }
  }

  void multiply(int64_t column) {
    const int64_t panel = s_.depth * kPanelWidth;
    Vec sum[kVectors];
    HWY_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) sum[i] = hn::Load(d, sums_ + i * kTileLanes);
    for (int64_t s = 0; s < s_.segment_count; ++s) {
      const TileSegment<float>& segment = s_.segments[s];
      const auto multiply = [&](const auto* row) HWY_ATTR {
        for (int64_t k = 0; k < segment.k; ++k, row += kPanelWidth) {
          const Vec a = hn::Set(d, segment.a[k]);
          HWY_UNROLL(8)
          for (int i = 0; i < kVectors; ++i) {
            const auto* from = row + i / kPanelVectors * panel + i % kPanelVectors * kTileLanes;
            sum[i] = hn::MulAdd(a, load_floats(d, from), sum[i]);
          }
        }
      };
      const Panels<float> first = s_.b + (column * s_.depth + segment.b_row * kPanelWidth);
      if constexpr (kHasHalfPanels) {
        if (first.half()) {
          multiply(reinterpret_cast<const hwy::float16_t*>(first.half()));
          continue;
        }
      }
      multiply(first.data());
    }
    HWY_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) hn::Store(sum[i], d, sums_ + i * kTileLanes);
  }

  const StripJob<float>& s_;
  int64_t end_;  // of the columns that are summed
  HWY_ALIGN float sums_[kColumns];
};

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
              .is_far = s.is_far && s.is_last,
              .ahead = s.ahead,
              .ahead_count = s.ahead_count};
  RowSums row_sums(s);
  for (int64_t column = s.first_column; column < s.last_column; column += kPanelWidth) {
    const int64_t channel = s.channel + column;
    float* partial = s.partial ? s.partial + column - s.first_column : nullptr;
    const float* sums = row_sums.of(column);
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
    job.partial = sums ? sums : s.is_first ? nullptr : partial;
    job.segment_count = sums ? 0 : s.segment_count;
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

int64_t panels_at_once(int64_t panel_weights, int64_t panels) {
  // Small builds read whole weights.
  constexpr int64_t kWeights = int64_t{1} << 17;
  if (!selection::kIsWhole) return panels;
  const int64_t cached = kWeights * num_threads() / std::max<int64_t>(1, panel_weights);
  return std::clamp<int64_t>(cached, 1, std::max<int64_t>(1, panels));
}

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

bool is_far_image(int64_t pixels, int64_t channels) {
  constexpr int64_t kNearBytes = int64_t{1} << 20;
  return pixels * channels * static_cast<int64_t>(sizeof(float)) > cached(kNearBytes);
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
