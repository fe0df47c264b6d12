#include "kernels/gemm/gemm_nhwc.h"

#if TORCHLET_FLOAT16

#include <algorithm>
#include <type_traits>

#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/half/float16-inl.h"

TORCHLET_FLOAT16_BEGIN
namespace torchlet::kernels {
namespace float16 {

// As many sums as in float32: a vector of Float16 has two of them for each column, over the even
// and the odd k, so that A is read in pairs, which can be broadcast while they are loaded.
#if HWY_ARCH_X86
constexpr int kTileRows = 14;
#else
constexpr int kTileRows = 8;
#endif
constexpr int kColumns = kLanes / 2;  // of a vector
constexpr int kPanelWidth = 2 * kColumns;

// How many k are summed in Float16, half of them in a lane, before the sum is added in float32.
constexpr int64_t kBlockDepth = 128;

// The next k of a tile.
struct Cursor {
  const TileSegment<Float16>* segment;
  const TileSegment<Float16>* end;
  int64_t k = 0;  // of the segment

  bool is_done() const { return segment == end; }
};

struct Fetch {
  const Float16* next;
  int64_t step;  // 0: nothing to fetch
};

// sums[R, V * kColumns] = A B of the next kBlockDepth k at most.
template <int R, int V>
HWY_NOINLINE void multiply_block(Cursor& cursor, int64_t row, const Float16* panel, Fetch& fetch,
                                 Float16* sums) {
  Vec sum[R][V];
  HWY_UNROLL(14)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) sum[r][v] = zero();
  }
  const Float16* ahead = fetch.next;
  const int64_t ahead_step = fetch.step;
  for (int64_t left = kBlockDepth; left > 0 && !cursor.is_done();) {
    const TileSegment<Float16>& segment = *cursor.segment;
    const int64_t stride = segment.a_row_stride;
    const int64_t count = std::min(left, segment.k - cursor.k);
    const Float16* b = panel + (segment.b_row + cursor.k) * (V * kColumns);
    // Three rows share a pointer, which leaves registers for the rest.
    const Float16* a[(R + 2) / 3];
    HWY_UNROLL(5)
    for (int i = 0; i < (R + 2) / 3; ++i) {
      a[i] = segment.a + (row + 3 * i) * stride + cursor.k;
    }
    const auto step = [&](int64_t k, auto is_pair) TORCHLET_FLOAT16_ATTR {
      Vec bv[V];
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) bv[v] = load(b + v * kLanes);
      b += V * kLanes;
      __builtin_prefetch(ahead, 0, 2);
      ahead += ahead_step;
      HWY_UNROLL(14)
      for (int r = 0; r < R; ++r) {
        const Float16* from = a[r / 3] + (r % 3) * stride + k;
        const Vec av = is_pair ? set_pair(from) : set_single(from);
        HWY_UNROLL(2)
        for (int v = 0; v < V; ++v) sum[r][v] = mul_add(av, bv[v], sum[r][v]);
      }
    };
    int64_t k = 0;
    for (; k + 2 <= count; k += 2) step(k, std::true_type());
    if (k < count) step(k, std::false_type()), k += 2;
    left -= k;  // whole pairs, so that no block ends within one
    cursor.k += count;
    if (cursor.k == segment.k) ++cursor.segment, cursor.k = 0;
  }
  fetch.next = ahead;
  HWY_UNROLL(14)
  for (int r = 0; r < R; ++r) {
    const Vec result = V == 2 ? add_pairs(sum[r][0], sum[r][V - 1]) : add_pairs(sum[r][0]);
    store(result, sums + r * kPanelWidth);
  }
}

// One panel of B for some rows.
struct PanelJob {
  const StripJob<Float16>* strip;
  const Float16* b = nullptr;
  int64_t columns = 0;          // that exist
  const float* bias = nullptr;  // or null, as the next two
  float* partial = nullptr;
  const Float16* residual = nullptr;
  Float16* c = nullptr;
  bool in_float16 = false;  // the whole epilogue
  Vec low{}, high{};
  bool is_gated = false;  // hardswish; else clamped between low and high
};

// The epilogue of sums that need no float32.
void finish(const PanelJob& job, int64_t row, int64_t rows, const Float16* sums) {
  const StripJob<Float16>& s = *job.strip;
  const Vec bias = job.bias ? load_narrow_first(job.bias, job.columns) : zero();
  const Vec sixth = set(1.0f / 6), half = set(0.5f);
  const int64_t residual_stride = s.epilogue->residual_stride;
  for (int64_t r = 0; r < rows; ++r) {
    Vec value = add(load(sums + r * kPanelWidth), bias);
    if (job.residual) {
      value = add(value, load_first(job.residual + (row + r) * residual_stride, job.columns));
    }
    if (job.is_gated) {
      value = mul(value, clamp(mul_add(value, sixth, half), job.low, job.high));
    } else {
      value = clamp(value, job.low, job.high);
    }
    store_first(value, job.c + (row + r) * s.output_stride, job.columns);
  }
}

void add_rows(const Float16* residual, int64_t stride, int64_t rows, int64_t columns, float* sums) {
  for (int64_t r = 0; r < rows; ++r, sums += kPanelWidth) {
    const Vec other = load_first(residual + r * stride, columns);
    store(add(load(sums), widen_low(other)), sums);
    store(add(load(sums + kFloatLanes), widen_high(other)), sums + kFloatLanes);
  }
}

// sums = the part of k so far or the bias, then += each part that follows.
void start_sums(const PanelJob& job, int64_t row, int64_t rows, const Float16* part, float* sums) {
  const StripJob<Float16>& s = *job.strip;
  for (int64_t r = 0; r < rows; ++r, part += kPanelWidth, sums += kPanelWidth) {
    const float* start = job.bias;
    if (s.partial && !s.is_first) start = job.partial + (row + r) * s.partial_stride;
    const int64_t rest = std::max<int64_t>(0, job.columns - kFloatLanes);
    const Floats low = start ? load_first(start, job.columns) : zero_floats();
    const Floats high = start ? load_first(start + kFloatLanes, rest) : zero_floats();
    const Vec values = load(part);
    store(add(low, widen_low(values)), sums);
    store(add(high, widen_high(values)), sums + kFloatLanes);
  }
}
void finish_sums(const PanelJob& job, int64_t row, int64_t rows, float* sums) {
  const StripJob<Float16>& s = *job.strip;
  const Epilogue<Float16>& epilogue = *s.epilogue;
  if (!s.is_last) {
    const int64_t rest = std::max<int64_t>(0, job.columns - kFloatLanes);
    for (int64_t r = 0; r < rows; ++r, sums += kPanelWidth) {
      float* to = job.partial + (row + r) * s.partial_stride;
      store_first(load(sums), to, job.columns);
      store_first(load(sums + kFloatLanes), to + kFloatLanes, rest);
    }
    return;
  }
  const Float16* residual = job.residual ? job.residual + row * epilogue.residual_stride : nullptr;
  const auto add_residual = [&](bool last) TORCHLET_FLOAT16_ATTR {
    if (!residual || last != epilogue.residual_last) return;
    add_rows(residual, epilogue.residual_stride, rows, job.columns, sums);
  };
  add_residual(false);
  activate_f32(epilogue.activation, sums, kPanelWidth, rows, job.columns);
  add_residual(true);
  for (int64_t r = 0; r < rows; ++r, sums += kPanelWidth) {
    store_first(load_narrow(sums), job.c + (row + r) * s.output_stride, job.columns);
  }
}

using MultiplyBlock = void (*)(Cursor&, int64_t, const Float16*, Fetch&, Float16*);

void multiply_tile(const PanelJob& job, int64_t row, int64_t rows, MultiplyBlock multiply,
                   Fetch& fetch) {
  alignas(64) Float16 part[kTileRows * kPanelWidth];
  const StripJob<Float16>& s = *job.strip;
  Cursor cursor{s.segments, s.segments + s.segment_count};
  multiply(cursor, row, job.b, fetch, part);
  if (cursor.is_done() && job.in_float16) return finish(job, row, rows, part);
  alignas(64) float sums[kTileRows * kPanelWidth];
  start_sums(job, row, rows, part, sums);
  while (!cursor.is_done()) {
    multiply(cursor, row, job.b, fetch, part);
    for (int64_t i = 0; i < rows * kPanelWidth; i += kLanes) {
      const Vec values = load(part + i);
      store(add(load(sums + i), widen_low(values)), sums + i);
      store(add(load(sums + i + kFloatLanes), widen_high(values)), sums + i + kFloatLanes);
    }
  }
  finish_sums(job, row, rows, sums);
}

template <int V>
void multiply_rows(const PanelJob& job, Fetch fetch, const Float16* fetch_end) {
  for_each_tile<kTileRows>(job.strip->rows, [&](int64_t row, auto count) {
    if (fetch.next >= fetch_end) fetch = {job.b, 0};
    multiply_tile(job, row, count, multiply_block<decltype(count)::value, V>, fetch);
  });
}

}  // namespace float16

using float16::kColumns;
using float16::kPanelWidth;

template <>
TileShape tile_shape<Float16>() {
  return {float16::kTileRows, kPanelWidth, kColumns, 2};
}

void multiply_strip(const StripJob<Float16>& s) {
  const EpilogueF16& epilogue = *s.epilogue;
  const bool is_gated = epilogue.activation.kind == ActivationKind::kHardswish;
  const Bounds bounds = is_gated ? Bounds{0, 1} : bounds_of(epilogue.activation);
  float16::PanelJob job{.strip = &s};
  job.in_float16 = !s.partial && (is_gated || is_clamp(epilogue.activation)) &&
                   !(epilogue.residual && epilogue.residual_last);
  job.is_gated = is_gated;
  job.low = float16::set(bounds.low);
  job.high = float16::set(bounds.high);
  const Float16* ahead = s.ahead;
  int64_t ahead_count = s.ahead_count;
  for (int64_t column = s.first_column; column < s.last_column; column += kPanelWidth) {
    const int64_t channel = s.channel + column;
    job.b = (s.b + column * s.depth).data();
    job.columns = std::min<int64_t>(kPanelWidth, s.last_column - column);
    job.bias = epilogue.bias ? epilogue.bias + channel : nullptr;
    job.partial = s.partial ? s.partial + column - s.first_column : nullptr;
    job.residual = epilogue.residual && s.is_last
                       ? epilogue.residual + s.pixel * epilogue.residual_stride + channel
                       : nullptr;
    job.c = s.output + s.pixel * s.output_stride + channel;
    if (s.ahead_rows > 0) {
      const int64_t width = job.columns <= kColumns ? kColumns : kPanelWidth;
      ahead = job.b + s.ahead_row * width;
      ahead_count = s.ahead_rows * width;
    }
    const float16::Fetch fetch{ahead, 32};
    if (job.columns <= kColumns) {
      float16::multiply_rows<1>(job, fetch, ahead + ahead_count);
    } else {
      float16::multiply_rows<2>(job, fetch, ahead + ahead_count);
    }
    ahead_count = 0;
  }
}

}  // namespace torchlet::kernels
TORCHLET_FLOAT16_END

#endif  // TORCHLET_FLOAT16
