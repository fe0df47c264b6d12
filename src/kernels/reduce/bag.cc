#include "kernels/reduce/bag.h"

#define TORCHLET_NO_AVX3  // rows wait for memory
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/bag.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int64_t kAhead = 8;  // rows that are fetched before they are added
constexpr int kVectorsOfLine = HWY_LANES(float) < 16 ? 16 / HWY_LANES(float) : 1;

// Columns [first, first + V kLanes), of which the last vector may have fewer, in registers.
template <int V>
void sum_columns(const float* table, int64_t dim, const int64_t* indices, int64_t count,
                 int64_t known, const float* factors, float* row, int64_t first) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[V];
  HWY_UNROLL(8)
  for (int v = 0; v < V; ++v) sums[v] = hn::Zero(d);
  for (int64_t i = 0; i < count; ++i) {
    const float* const from = table + indices[i] * dim + first;
    if (i + kAhead < known) {
      const float* const next = table + indices[i + kAhead] * dim + first;
      for (int v = 0; v < V; v += kVectorsOfLine) hwy::Prefetch(next + v * kLanes);
    }
    const auto factor = hn::Set(d, factors ? factors[i] : 1.0f);
    HWY_UNROLL(8)
    for (int v = 0; v < V; ++v) {
      const auto x = V == 1 ? load_first(d, from, dim - first) : hn::LoadU(d, from + v * kLanes);
      sums[v] = hn::MulAdd(factor, x, sums[v]);
    }
  }
  HWY_UNROLL(8)
  for (int v = 0; v < V; ++v) {
    const int64_t column = first + v * kLanes;
    store_first(sums[v], d, row + column, dim - column);
  }
}

void sum_bag_f32(const float* table, int64_t dim, const int64_t* indices, int64_t count,
                 int64_t known, const float* factors, float* row) {
  int64_t first = 0;
  for (; first + 8 * kLanes <= dim; first += 8 * kLanes) {
    sum_columns<8>(table, dim, indices, count, known, factors, row, first);
  }
  for (; first + 2 * kLanes <= dim; first += 2 * kLanes) {
    sum_columns<2>(table, dim, indices, count, known, factors, row, first);
  }
  for (; first < dim; first += kLanes) {
    sum_columns<1>(table, dim, indices, count, known, factors, row, first);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(sum_bag_f32);

void sum_bag(const float* table, int64_t dim, const int64_t* indices, int64_t count, int64_t known,
             const float* factors, float* row) {
  HWY_DYNAMIC_DISPATCH(sum_bag_f32)(table, dim, indices, count, known, factors, row);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
