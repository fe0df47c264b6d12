// Pooling over the last one to three dimensions; the dimensions before them are [N, C] or [C].
#pragma once

#include <utility>

#include "ops/core/common.h"

namespace torchlet::ops {

struct PoolWindow {
  IntArray kernel, stride, padding, dilation;  // one value, or one per dimension; no stride: kernel
  bool ceil_mode = false;
};

// (values, int64 indices into the flattened pooled dimensions); NaN counts as the largest.
std::pair<Tensor, Tensor> max_pool(int64_t spatial, const Tensor& self, const PoolWindow& window);
// The values alone.
Tensor max_pool_values(int64_t spatial, const Tensor& self, const PoolWindow& window);
// `divisor`: instead of the number of elements under the window.
Tensor avg_pool(int64_t spatial, const Tensor& self, PoolWindow window, bool count_include_pad,
                std::optional<int64_t> divisor);
Tensor adaptive_avg_pool(int64_t spatial, const Tensor& self, IntSpan output_size);
std::pair<Tensor, Tensor> adaptive_max_pool(int64_t spatial, const Tensor& self,
                                            IntSpan output_size);

}  // namespace torchlet::ops
