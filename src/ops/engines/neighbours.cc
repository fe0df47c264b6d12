#include "ops/engines/neighbours.h"

#include "base/thread_pool.h"

namespace torchlet::ops::detail {

Tensor map_neighbours(const Tensor& a, const Tensor& b, int64_t dim, const IntArray& order,
                      NeighbourBody body) {
  constexpr int64_t kElementsPerTask = 16384;
  const IntArray places = inverse_order(order);
  const auto d = static_cast<size_t>(places[static_cast<size_t>(wrap_dim(dim, a.dim()))]);
  IntArray sizes(permute(a, order).sizes());
  const int64_t length = --sizes[d];
  const Tensor out = empty(sizes, a.dtype());
  if (out.numel() > 0) {
    int64_t inner = 1;
    for (size_t i = d + 1; i < sizes.size(); ++i) inner *= sizes[i];
    const int64_t count = length * inner;
    parallel_for(out.numel() / count, std::max<int64_t>(1, kElementsPerTask / count),
                 [&](int64_t begin, int64_t end) {
                   body({a.raw_data(), b.raw_data(), out.raw_data(), count, inner, begin, end});
                 });
  }
  return permute(out, places);
}

}  // namespace torchlet::ops::detail
