#include <algorithm>
#include <cstdlib>

#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/isa.h"

#if TORCHLET_BFLOAT16

#include <hwy/base.h>

HWY_DIAGNOSTICS(push)
HWY_DIAGNOSTICS_OFF(disable : 4701 4703, ignored "-Wuninitialized")
#if HWY_COMPILER_GCC_ACTUAL
HWY_DIAGNOSTICS_OFF(disable : 4701 4703, ignored "-Wmaybe-uninitialized")
#endif
#include <immintrin.h>
HWY_DIAGNOSTICS(pop)

#define TORCHLET_BFLOAT16_TARGET \
  "avx512bf16,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2"
HWY_PUSH_ATTRIBUTES(TORCHLET_BFLOAT16_TARGET)
namespace torchlet::kernels {
namespace bfloat16 {

constexpr int kTileRows = 14;
constexpr int kLanes = 16;  // pairs of a vector, and sums
constexpr int kPanelWidth = 2 * kLanes;
// Rows whose sums of a panel are kept until they are finished, 7 KB.
constexpr int64_t kRowsAtOnce = 4 * kTileRows;

// k that follow each other in A and in B.
struct Run {
  int64_t k, b_row, count;
};

// Rows of A, rounded, and what they are multiplied with.
struct Product {
  const BFloat16* a;
  int64_t a_stride;
  const Run* runs;
  int64_t run_count;
  const BFloat16* panel;
  int64_t columns;               // of the panel that exist
  const float* start = nullptr;  // the sums begin with these rows of columns, or zeros
  int64_t start_stride = 0;
  const float* residual = nullptr;
  int64_t residual_stride = 0;
  float low, high;
  float* c = nullptr;
  int64_t c_stride = 0;
};

// What is wanted next, a cache line with every pair of k.
struct Fetch {
  const float* next;
  int64_t step;  // 0: nothing to fetch
};

HWY_INLINE __mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffffu
                                                : _bzhi_u32(~0u, static_cast<unsigned>(count)));
}

// C = clamp(start + A B + residual) for R rows and V vectors of columns.
template <int R, int V>
HWY_NOINLINE void multiply_tile(const Product& p, int64_t row, Fetch& fetch) {
  __m512 sum[R][V];
  __mmask16 exists[V];
  HWY_UNROLL(2)
  for (int v = 0; v < V; ++v) exists[v] = first_lanes(p.columns - v * kLanes);
  HWY_UNROLL(14)
  for (int r = 0; r < R; ++r) {
    const float* start = p.start ? p.start + (row + r) * p.start_stride : nullptr;
    HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) {
      sum[r][v] =
          start ? _mm512_maskz_loadu_ps(exists[v], start + v * kLanes) : _mm512_setzero_ps();
    }
  }
  const float* ahead = fetch.next;
  const int64_t ahead_step = fetch.step, stride = p.a_stride;
  for (int64_t i = 0; i < p.run_count; ++i) {
    const Run& run = p.runs[i];
    const BFloat16* b = p.panel + run.b_row * (V * kLanes);
    // Three rows share a pointer, which leaves registers for the rest.
    const BFloat16* a[(R + 2) / 3];
    HWY_UNROLL(5)
    for (int j = 0; j < (R + 2) / 3; ++j) a[j] = p.a + (row + 3 * j) * stride + run.k;
    for (int64_t k = 0; k < run.count; k += 2) {
      __m512bh bv[V];
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) {
        bv[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + v * 2 * kLanes));
      }
      b += V * 2 * kLanes;
      __builtin_prefetch(ahead, 0, 2);
      ahead += ahead_step;
      HWY_UNROLL(14)
      for (int r = 0; r < R; ++r) {
        int32_t pair;
        __builtin_memcpy(&pair, a[r / 3] + (r % 3) * stride + k, sizeof(pair));
        const __m512bh av = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
        HWY_UNROLL(2)
        for (int v = 0; v < V; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], av, bv[v]);
      }
    }
  }
  fetch.next = ahead;
  if (p.residual) {
    HWY_UNROLL(14)
    for (int r = 0; r < R; ++r) {
      const float* residual = p.residual + (row + r) * p.residual_stride;
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) {
        const __m512 other = _mm512_maskz_loadu_ps(exists[v], residual + v * kLanes);
        sum[r][v] = _mm512_add_ps(sum[r][v], other);
      }
    }
  }
  const __m512 low = _mm512_set1_ps(p.low), high = _mm512_set1_ps(p.high);
  HWY_UNROLL(14)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) {  // the operands' order lets NaN stay
      const __m512 clamped = _mm512_min_ps(high, _mm512_max_ps(low, sum[r][v]));
      _mm512_mask_storeu_ps(p.c + (row + r) * p.c_stride + v * kLanes, exists[v], clamped);
    }
  }
}

template <int V>
void multiply_rows(const Product& p, int64_t rows, Fetch& fetch) {
  for_each_tile<kTileRows>(rows, [&](int64_t row, auto count) {
    multiply_tile<decltype(count)::value, V>(p, row, fetch);
  });
}

// `count` floats, an even number of them.
void round_row(const float* from, int64_t count, BFloat16* to) {
  for (int64_t i = 0; i < count; i += 2 * kLanes) {
    const __m512 low = _mm512_maskz_loadu_ps(first_lanes(count - i), from + i);
    const __m512 high = _mm512_maskz_loadu_ps(first_lanes(std::max<int64_t>(0, count - i - kLanes)),
                                              from + i + kLanes);
    const __m512i both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
    _mm512_mask_storeu_epi32(to + i, first_lanes((count - i) / 2), both);
  }
}

}  // namespace bfloat16

void pack_bfloat16(const float* from, int64_t rows, int64_t width, BFloat16* to) {
  const __m512i turns = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  for (int64_t row = 0; row < rows; row += 2) {
    for (int64_t i = 0; i < width; i += bfloat16::kLanes) {
      const float* even = from + row * width + i;
      const __m512bh pair =
          _mm512_cvtne2ps_pbh(_mm512_loadu_ps(even + width), _mm512_loadu_ps(even));
      _mm512_storeu_si512(to + row * width + 2 * i,
                          _mm512_permutexvar_epi16(turns, reinterpret_cast<__m512i>(pair)));
    }
  }
}

void multiply_strip_bf16(const StripJob<float>& s) {
  using namespace bfloat16;
  const Scratch<Run> runs(s.segment_count);
  int64_t depth = 0, run_count = 0;
  for (int64_t i = 0; i < s.segment_count; ++i) {
    const TileSegment<float>& segment = s.segments[i];
    Run* last = run_count > 0 ? &runs[run_count - 1] : nullptr;
    if (last && last->b_row + last->count == segment.b_row) {
      last->count += segment.k;
    } else {
      runs[run_count++] = {depth, segment.b_row, segment.k};
    }
    depth += segment.k;
  }
  const int64_t a_stride = odd_lines(depth, 32);
  const Scratch<BFloat16> a(s.rows * a_stride);
  for (int64_t row = 0; row < s.rows; ++row) {
    BFloat16* to = a.data() + row * a_stride;
    for (int64_t i = 0; i < s.segment_count; to += s.segments[i].k, ++i) {
      const TileSegment<float>& segment = s.segments[i];
      round_row(segment.a + row * segment.a_row_stride, segment.k, to);
    }
  }

  const EpilogueF32& epilogue = *s.epilogue;
  const bool in_registers = !s.is_last || (is_clamp(epilogue.activation) &&
                                           !(epilogue.residual && epilogue.residual_last));
  const Bounds bounds = bounds_of(s.is_last && in_registers ? epilogue.activation : Activation{});
  // The sums of some rows of a panel, and what they need that does not fit registers.
  alignas(64) float sums[kRowsAtOnce * kPanelWidth];
  StripJob<float> finish = s;
  finish.segment_count = 0;
  finish.is_first = false;
  finish.partial = sums;
  finish.partial_stride = kPanelWidth;
  finish.ahead_count = finish.ahead_rows = 0;
  const float* ahead = s.ahead;
  int64_t ahead_count = s.ahead_count;
  for (int64_t column = s.first_column; column < s.last_column; column += kPanelWidth) {
    const auto panel = s.b + column * s.depth;
    const int64_t channel = s.channel + column;
    const int64_t columns = std::min<int64_t>(kPanelWidth, s.last_column - column);
    const int64_t width = columns <= kLanes ? kLanes : kPanelWidth;
    if (s.ahead_rows > 0) {
      ahead = (panel + s.ahead_row * width).fetched();
      ahead_count = panel.fetched_count(s.ahead_rows * width);
    }
    const float* const ahead_end = ahead + ahead_count;
    float* const partial = s.partial ? s.partial + column - s.first_column : nullptr;
    for (int64_t row = 0; row < s.rows; row += kRowsAtOnce) {
      Product product{.a = a.data() + row * a_stride,
                      .a_stride = a_stride,
                      .runs = runs.data(),
                      .run_count = run_count,
                      .panel = panel.bfloat16(),
                      .columns = columns,
                      .low = bounds.low,
                      .high = bounds.high};
      if (!s.is_first) {
        product.start = partial + row * s.partial_stride;
        product.start_stride = s.partial_stride;
      } else if (epilogue.bias) {
        product.start = epilogue.bias + channel;
      }
      if (!s.is_last) {
        product.c = partial + row * s.partial_stride;
        product.c_stride = s.partial_stride;
      } else if (in_registers) {
        const int64_t pixel = s.pixel + row;
        if (epilogue.residual) {
          product.residual = epilogue.residual + pixel * epilogue.residual_stride + channel;
          product.residual_stride = epilogue.residual_stride;
        }
        product.c = s.output + pixel * s.output_stride + channel;
        product.c_stride = s.output_stride;
      } else {
        product.c = sums;
        product.c_stride = kPanelWidth;
      }
      const int64_t rows = std::min(kRowsAtOnce, s.rows - row);
      Fetch fetch{ahead, 16};
      if (ahead >= ahead_end) fetch = {s.segments[0].a, 0};
      if (width == kLanes) {
        multiply_rows<1>(product, rows, fetch);
      } else {
        multiply_rows<2>(product, rows, fetch);
      }
      if (fetch.step != 0) ahead = fetch.next;
      if (in_registers) continue;
      finish.first_column = column;
      finish.last_column = column + columns;
      finish.rows = rows;
      finish.pixel = s.pixel + row;
      multiply_strip(finish);
    }
    ahead_count = 0;
  }
}

}  // namespace torchlet::kernels
HWY_POP_ATTRIBUTES

#else  // never called: has_bfloat16() is false

namespace torchlet::kernels {

void pack_bfloat16(const float*, int64_t, int64_t, BFloat16*) { std::abort(); }
void multiply_strip_bf16(const StripJob<float>&) { std::abort(); }

}  // namespace torchlet::kernels

#endif  // TORCHLET_BFLOAT16

namespace torchlet::kernels {

bool has_bfloat16() {
  // Tests have tiles of other instruction sets.
  return TORCHLET_BFLOAT16 != 0 && has(Isa::kAvx512Bf16) && tile_shape<float>().lanes == 16;
}

}  // namespace torchlet::kernels
