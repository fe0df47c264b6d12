// The keys and values of a head are packed as panels for the micro-kernel of the linear layers;
// then some queries at a time, whose scores stay in the first-level cache while they are made,
// turned into weights and multiplied by the values. The weights' sum divides the result, which is
// narrower than they are.

#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequence/attention_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/layout/transpose.h"
#include "kernels/sequence/attention.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// Calls step(i, count) for whole vectors with their width as a constant, then for the rest.
template <class Step>
HWY_INLINE void for_each_vector(int64_t count, const Step& step) {
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    step(i, kLanes);
    step(i + kLanes, kLanes);
  }
  for (; i < count; i += kLanes) step(i, std::min(kLanes, count - i));
}

// x = change(x, place, how many are left); gives the largest.
template <class Change>
HWY_INLINE float change_scores(float* x, int64_t count, const Change& change) {
  const V lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  V largest = lowest;
  for_each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    V v = change(load_first(d, x + i, left), i, left);
    store_first(v, d, x + i, left);
    if (left < kLanes) v = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(left)), v, lowest);
    largest = hn::Max(largest, v);
  });
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// x = scale * x + terms, if there are any.
float scale_and_add(float* x, const float* terms, float scale, int64_t count) {
  const V factor = hn::Set(d, scale);
  return change_scores(x, count, [&](V v, int64_t i, int64_t left) HWY_ATTR {
    v = hn::Mul(v, factor);
    return terms ? hn::Add(v, load_first(d, terms + i, left)) : v;
  });
}

// Which of the first `count` bytes are 0, for as many floats.
HWY_INLINE hn::Mask<D> zeros_among(const uint8_t* bytes, int64_t count) {
  const hn::Rebind<uint8_t, D> narrow;
  const hn::RebindToSigned<D> integers;
  uint8_t some[kLanes] = {};
  if (count < kLanes) bytes = std::copy_n(bytes, count, some) - count;
  const auto wide = hn::PromoteTo(integers, hn::LoadU(narrow, bytes));
  return hn::RebindMask(d, hn::Eq(wide, hn::Zero(integers)));
}

// x = number where `chosen` is not 0, or unless it is.
float fill(float* x, const uint8_t* chosen, bool unless, float number, int64_t count) {
  const V filling = hn::Set(d, number);
  return change_scores(x, count, [&](V v, int64_t i, int64_t left) HWY_ATTR {
    const hn::Mask<D> is_zero = zeros_among(chosen + i, left);
    return unless ? hn::IfThenElse(is_zero, filling, v) : hn::IfThenElse(is_zero, v, filling);
  });
}

// x = e^(x - largest); gives the sum.
HWY_INLINE float exponentials(float* x, float largest, int64_t count) {
  const V max = hn::Set(d, largest);
  V sum = hn::Zero(d);
  for_each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    V e = exp_of_negative(d, hn::Sub(load_first(d, x + i, left), max));
    if (left < kLanes) e = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(left)), e);
    store_first(e, d, x + i, left);
    sum = hn::Add(sum, e);
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// x = e^(scale * x + terms - the largest of these) of a row of kShortRow vectors, the last one
// perhaps in part, which stay in registers; gives the sum. With the 49 keys of windows of 7 x 7 it
// takes a sixth off the attention.
constexpr int kShortRow = 4;
float weigh_short_row(float* x, const float* terms, float scale, int64_t count) {
  const int64_t left = count - (kShortRow - 1) * kLanes;
  const auto exists = hn::FirstN(d, static_cast<size_t>(left));
  const V factor = hn::Set(d, scale);
  V v[kShortRow];
  V largest;
  HWY_UNROLL(4)
  for (int i = 0; i < kShortRow; ++i) {
    const int64_t valid = i + 1 < kShortRow ? kLanes : left;
    v[i] = hn::Mul(load_first(d, x + i * kLanes, valid), factor);
    if (terms) v[i] = hn::Add(v[i], load_first(d, terms + i * kLanes, valid));
    if (i + 1 == kShortRow) {
      v[i] = hn::IfThenElse(exists, v[i], hn::Set(d, -std::numeric_limits<float>::infinity()));
    }
    largest = i == 0 ? v[i] : hn::Max(largest, v[i]);
  }
  const V max = hn::MaxOfLanes(d, largest);
  V sum;
  HWY_UNROLL(4)
  for (int i = 0; i < kShortRow; ++i) {
    V e = exp_of_negative(d, hn::Sub(v[i], max));
    if (i + 1 == kShortRow) e = hn::IfThenElseZero(exists, e);
    store_first(e, d, x + i * kLanes, i + 1 < kShortRow ? kLanes : left);
    sum = i == 0 ? e : hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// The scores [rows, stride] of queries from `query` on become weights, whose sums are not 1 yet.
void weigh(const AttentionF32& a, int64_t outer, int64_t inner, int64_t query, float* scores,
           int64_t stride, int64_t rows, float* sums) {
  for (int64_t r = 0; r < rows; ++r, ++query, scores += stride) {
    auto change = a.changes.begin();
    const auto next_is = [&](ScoreChange::Kind kind) {
      return change != a.changes.end() && change->kind == kind;
    };
    float scale = a.scale;
    if (next_is(ScoreChange::Kind::kScale)) scale *= *(change++)->terms.at(outer, inner, query);
    const float* terms =
        next_is(ScoreChange::Kind::kAdd) ? (change++)->terms.at(outer, inner, query) : nullptr;
    if (change == a.changes.end() && (a.keys + kLanes - 1) / kLanes == kShortRow) {
      sums[r] = weigh_short_row(scores, terms, scale, a.keys);
      continue;
    }
    float largest = scale_and_add(scores, terms, scale, a.keys);
    for (; change != a.changes.end(); ++change) {
      switch (change->kind) {
        case ScoreChange::Kind::kAdd:
          largest = scale_and_add(scores, change->terms.at(outer, inner, query), 1, a.keys);
          break;
        case ScoreChange::Kind::kScale:
          largest = scale_and_add(scores, nullptr, *change->terms.at(outer, inner, query), a.keys);
          break;
        case ScoreChange::Kind::kFillWhere:
        case ScoreChange::Kind::kFillUnless:
          largest = fill(scores, change->chosen.at(outer, inner, query),
                         change->kind == ScoreChange::Kind::kFillUnless, change->number, a.keys);
          break;
        case ScoreChange::Kind::kAtLeast: {
          const V number = hn::Set(d, change->number);
          largest = change_scores(scores, a.keys, [&](V v, int64_t, int64_t) HWY_ATTR {
            return max_keeping_nan(number, v);
          });
        }
      }
    }
    sums[r] = exponentials(scores, largest, a.keys);
  }
}

void divide(const AttentionF32& a, float* result, int64_t rows, const float* sums) {
  for (int64_t r = 0; r < rows; ++r, result += a.result.row_stride) {
    const V inverse = hn::Set(d, 1 / sums[r]);
    for (int64_t i = 0; i < a.value_depth; i += kLanes) {
      const int64_t left = a.value_depth - i;
      store_first(hn::Mul(load_first(d, result + i, left), inverse), d, result + i, left);
    }
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(weigh);
HWY_EXPORT(divide);

namespace {

constexpr int64_t kQueries = 56;  // about as many rows of scores at once

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
int64_t score_stride(int64_t keys) { return round_up(keys, 16) + 16; }

struct Sizes {
  Sizes(int64_t keys, int64_t depth, int64_t value_depth)
      : tile(tile_shape<float>()),
        packed_k(round_up(keys, tile.width) * depth),
        packed_v(round_up(value_depth, tile.width) * keys),
        rows(round_up(kQueries, tile.rows)),
        scores(rows * score_stride(keys)) {}
  TileShape tile;
  int64_t packed_k, packed_v;  // floats
  int64_t rows;                // of scores
  int64_t scores;
};

// Panels of keys, [depth, width].
void pack_keys(const AttentionF32& a, const float* k, const TileShape& tile, float* to) {
  for (int64_t first = 0; first < a.keys; first += tile.width) {
    const int64_t count = std::min<int64_t>(tile.width, a.keys - first);
    const int64_t width = tile.panel_width(count);
    if (count < width) std::fill_n(to, width * a.depth, 0.0f);
    if (a.k_column_stride == 1) {
      transpose_f32(count, a.depth, k + first * a.k.row_stride, a.k.row_stride, to, width);
    } else {
      for (int64_t i = 0; i < a.depth; ++i) {
        std::copy_n(k + first + i * a.k_column_stride, count, to + i * width);
      }
    }
    to += width * a.depth;
  }
}

// Panels of columns of the values, [keys, width].
void pack_values(const AttentionF32& a, const float* v, const TileShape& tile, float* to) {
  for (int64_t first = 0; first < a.value_depth; first += tile.width) {
    const int64_t count = std::min<int64_t>(tile.width, a.value_depth - first);
    const int64_t width = tile.panel_width(count);
    for (int64_t key = 0; key < a.keys; ++key, to += width) {
      std::copy_n(v + key * a.v.row_stride + first, count, to);
      std::fill_n(to + count, width - count, 0.0f);
    }
  }
}

// c[rows, columns] = a[rows, depth] times packed panels.
void multiply(const TileShape& tile, int64_t rows, const float* a, int64_t a_stride, int64_t depth,
              const float* packed, int64_t columns, float* c, int64_t c_stride) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const TileSegment<float> segment{a, a_stride, depth, 0};
  TileJob job{.segments = &segment,
              .segment_count = 1,
              .low = -kInfinity,
              .high = kInfinity,
              .c_stride = c_stride};
  for (int64_t first = 0; first < columns; first += tile.width) {
    job.b = packed + first * depth;
    job.columns = std::min<int64_t>(tile.width, columns - first);
    job.c = c + first;
    multiply_panel(job, rows);
  }
}

// Queries [begin, end) of one head.
void attend(const AttentionF32& a, const Sizes& sizes, int64_t outer, int64_t inner, int64_t begin,
            int64_t end) {
  const Scratch<float> packed(sizes.packed_k + sizes.packed_v + sizes.scores + sizes.rows);
  float* packed_v = packed.data() + sizes.packed_k;
  float* scores = packed_v + sizes.packed_v;
  float* sums = scores + sizes.scores;
  const TileShape& tile = sizes.tile;
  pack_keys(a, a.k.at(outer, inner), tile, packed.data());
  pack_values(a, a.v.at(outer, inner), tile, packed_v);
  const int64_t blocks = (end - begin + sizes.rows - 1) / sizes.rows;
  const int64_t step = round_up((end - begin + blocks - 1) / blocks, tile.rows);
  const int64_t stride = score_stride(a.keys);
  for (int64_t row = begin; row < end; row += step) {
    const int64_t rows = std::min(step, end - row);
    multiply(tile, rows, a.q.at(outer, inner, row), a.q.row_stride, a.depth, packed.data(), a.keys,
             scores, stride);
    HWY_DYNAMIC_DISPATCH(weigh)(a, outer, inner, row, scores, stride, rows, sums);
    float* result = a.result.at(outer, inner, row);
    multiply(tile, rows, scores, stride, a.keys, packed_v, a.value_depth, result,
             a.result.row_stride);
    HWY_DYNAMIC_DISPATCH(divide)(a, result, rows, sums);
  }
}

}  // namespace

int64_t attention_work_bytes(int64_t keys, int64_t depth, int64_t value_depth) {
  const Sizes sizes(keys, depth, value_depth);
  return (sizes.packed_k + sizes.packed_v + sizes.scores + sizes.rows) *
         static_cast<int64_t>(sizeof(float));
}

void attention_f32(const AttentionF32& a) {
  const Sizes sizes(a.keys, a.depth, a.value_depth);
  const int64_t heads = a.outer * a.inner;
  // Few heads: the threads share their queries, and each packs what it needs.
  const int64_t parts = heads < num_threads() && a.queries >= 2 * sizes.rows
                            ? (num_threads() + heads - 1) / heads
                            : 1;
  const int64_t part = round_up((a.queries + parts - 1) / parts, sizes.tile.rows);
  constexpr int64_t kProductsPerTask = int64_t{1} << 18;
  const int64_t products = part * a.keys * (a.depth + a.value_depth);
  const int64_t grain = (kProductsPerTask + products - 1) / products;
  parallel_for(heads * parts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / parts, first = i % parts * part;
      if (first >= a.queries) continue;
      attend(a, sizes, head / a.inner, head % a.inner, first, std::min(a.queries, first + part));
    }
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
