// Loops over neighbours along a dimension, where tensors lie dense.
#pragma once

#include "base/thread_pool.h"
#include "ops/core/dense_order.h"
#include "ops/engines/elementwise.h"

namespace torchlet::ops {

namespace detail {

// Rows of `count` results; the next neighbour of an element is `inner` further on.
struct NeighbourRows {
  int64_t count, inner;
};

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
template <typename T, typename F>
[[gnu::always_inline]] inline void map_neighbour_rows(const NeighbourRows& rows, const F& f,
                                                      const T* a, const T* b, T* to, int64_t begin,
                                                      int64_t end) {
  constexpr int64_t kFew = 8;  // of which compilers make vectors
  const int64_t inner = rows.inner;
  for (int64_t r = begin; r < end; ++r) {
    const T* const x = a + r * (rows.count + inner);
    const T* const y = b + r * (rows.count + inner);
    T* const out = to + r * rows.count;
    const auto at = [=](int64_t i) { return f(x[i], x[i + inner], y[i], y[i + inner]); };
    if (rows.count < kFew) {
      for (int64_t i = 0; i < rows.count; ++i) out[i] = at(i);
      continue;
    }
    for (int64_t i = 0; i < rows.count; i += kFew) {
      const int64_t first = std::min(i, rows.count - kFew);  // the last may be made twice
      TORCHLET_INDEPENDENT
      for (int64_t k = 0; k < kFew; ++k) out[first + k] = at(first + k);
    }
  }
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
template <typename T, typename F>
TORCHLET_WIDE_STEPS void map_wide_neighbour_rows(const NeighbourRows& rows, const F& f, const T* a,
                                                 const T* b, T* to, int64_t begin, int64_t end) {
  map_neighbour_rows(rows, f, a, b, to, begin, end);
}

}  // namespace detail

// f(a[i], a[i + 1], b[i], b[i + 1]) along `dim`, one less than there are, of two tensors of T that
// lie alike: dense, in this order (dense_order()), as the result does. f is a few instructions.
template <typename T, typename F>
Tensor map_neighbours(const Tensor& a, const Tensor& b, int64_t dim, const IntArray& order,
                      const F& f) {
  constexpr int64_t kElementsPerTask = 16384;
  const IntArray places = inverse_order(order);
  dim = places[static_cast<size_t>(wrap_dim(dim, a.dim()))];
  IntArray sizes(permute(a, order).sizes());
  const int64_t length = --sizes[static_cast<size_t>(dim)];
  const Tensor out = empty(sizes, DTypeOf<T>::value);
  if (out.numel() > 0) {
    int64_t inner = 1;
    for (size_t d = static_cast<size_t>(dim) + 1; d < sizes.size(); ++d) inner *= sizes[d];
    const detail::NeighbourRows rows{length * inner, inner};
    const T *x = a.data_ptr<T>(), *y = b.data_ptr<T>();
    T* to = out.data_ptr<T>();
    parallel_for(out.numel() / rows.count, std::max<int64_t>(1, kElementsPerTask / rows.count),
                 [&](int64_t begin, int64_t end) {
                   if constexpr (detail::kHasWideSteps) {
                     if (kernels::has_avx2()) {
                       return detail::map_wide_neighbour_rows(rows, f, x, y, to, begin, end);
                     }
                   }
                   detail::map_neighbour_rows(rows, f, x, y, to, begin, end);
                 });
  }
  return permute(out, places);
}

}  // namespace torchlet::ops
