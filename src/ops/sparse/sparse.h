// Sparse COO tensors and CSR matrices, as far as models use them: made, taken apart, made dense,
// multiplied.
#pragma once

#include <span>
#include <string_view>

#include "graph/operator.h"
#include "ops/core/common.h"

namespace torchlet::ops {

// Error unless the tensor is sparse.
const SparseParts& parts_of(const Tensor& self);
// The parts must fit the sizes.
Tensor from_parts(SparseParts parts, const IntArray& sizes);
// indices int64 [sparse_dim, nnz], values [nnz, dense sizes...]. Error if they do not fit each
// other or `sizes` (which may be empty: the smallest that holds all indices).
Tensor make_sparse(const Tensor& indices, const Tensor& values, std::optional<IntArray> sizes);
// Sorted by position, without repeats (their values are summed).
Tensor coalesce(const Tensor& self);
// A dense tensor itself, or a new one from a sparse one.
Tensor to_dense(const Tensor& self);

// The operator for dense and sparse tensors, from the one for dense ones; null if PyTorch has no
// such form of the operator, which then refuses sparse tensors by itself.
using SparseForm = void (*)(const Operator& dense, std::span<Value> args, std::span<Value> results);
SparseForm sparse_form(std::string_view name);

}  // namespace torchlet::ops
