// Sparse COO tensors, as far as models use them: made, taken apart, made dense.
#pragma once

#include "ops/common.h"

namespace torchlet::ops {

// indices int64 [sparse_dim, nnz], values [nnz, dense sizes...]. Error if they do not fit each
// other or `sizes` (which may be empty: the smallest that holds all indices).
Tensor make_sparse(const Tensor& indices, const Tensor& values, std::optional<IntArray> sizes);
// Sorted by position, without repeats (their values are summed).
Tensor coalesce(const Tensor& self);
// A dense tensor itself, or a new one from a sparse one.
Tensor to_dense(const Tensor& self);

}  // namespace torchlet::ops
