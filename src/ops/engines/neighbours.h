// Loops over neighbours along a dimension, where tensors lie dense.
#pragma once

#include "kernels/simd/isa.h"
#include "ops/core/dense_order.h"
#include "ops/engines/elementwise.h"

namespace torchlet::ops {

namespace detail {

// Of rows [begin, end), of `count` results each; the next neighbour of an element is `inner`
// further on.
struct NeighbourRows {
  const void *a, *b;
  void* to;
  int64_t count, inner, begin, end;
};
using NeighbourBody = void (*)(const NeighbourRows& rows);

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
template <typename T, typename F>
[[gnu::always_inline]] inline void run_neighbour_rows(const NeighbourRows& rows) {
  constexpr int64_t kFew = 8;  // of which compilers make vectors
  const int64_t count = rows.count, inner = rows.inner;
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const T* const x = static_cast<const T*>(rows.a) + r * (count + inner);
    const T* const y = static_cast<const T*>(rows.b) + r * (count + inner);
    T* const out = static_cast<T*>(rows.to) + r * count;
    const auto at = [=](int64_t i) { return F()(x[i], x[i + inner], y[i], y[i + inner]); };
    if (count < kFew) {
      for (int64_t i = 0; i < count; ++i) out[i] = at(i);
      continue;
    }
    for (int64_t i = 0; i < count; i += kFew) {
      const int64_t first = std::min(i, count - kFew);  // the last may be made twice
      TORCHLET_INDEPENDENT
      for (int64_t k = 0; k < kFew; ++k) out[first + k] = at(first + k);
    }
  }
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
template <typename T, typename F>
TORCHLET_WIDE_STEPS void map_wide_neighbour_rows(const NeighbourRows& rows) {
  run_neighbour_rows<T, F>(rows);
}
template <typename T, typename F>
void map_neighbour_rows(const NeighbourRows& rows) {
  if constexpr (kHasWideSteps) {
    if (kernels::has(kernels::Isa::kAvx2)) return map_wide_neighbour_rows<T, F>(rows);
  }
  run_neighbour_rows<T, F>(rows);
}

Tensor map_neighbours(const Tensor& a, const Tensor& b, int64_t dim, const IntArray& order,
                      NeighbourBody body);

}  // namespace detail

// f(a[i], a[i + 1], b[i], b[i + 1]) along `dim`, one less than there are, of two tensors of T that
// lie alike: dense, in this order (dense_order()), as the result does. f is a few instructions, and
// has no state.
template <typename T, typename F>
Tensor map_neighbours(const Tensor& a, const Tensor& b, int64_t dim, const IntArray& order, F) {
  return detail::map_neighbours(a, b, dim, order, &detail::map_neighbour_rows<T, F>);
}

}  // namespace torchlet::ops
