// In-place, copying, out= and quantized variants, made from the functional operator so that nobody
// writes them twice.
#pragma once

#include <string_view>

#include "ops/core/op.h"

namespace torchlet::ops {

// aten::add.Tensor -> aten::add_.Tensor
Operator inplace_variant(const Operator& base);
// aten::squeeze.dim -> aten::squeeze_.dim: self takes the sizes, strides and offset of the result.
Operator inplace_view_variant(const Operator& base);
// aten::select.int -> aten::select_copy.int: every returned view is copied.
Operator copied_variant(const Operator& base);
// aten::index_copy_ -> aten::index_copy: the same on a clone of self.
Operator functional_variant(const Operator& base);
// aten::max.dim + "dim_max(max, max_values)" -> aten::max.dim_max(..., *, Tensor(a!) max,
// Tensor(b!) max_values)
Operator out_variant(const Operator& base, std::string_view overload);

// Did that function make it?
bool is_inplace_view_variant(const Operator& op);
// The functional twin of an in-place operator that inplace_variant() made: gives what self would
// hold afterwards, in new memory. It has the name and schema of the functional operator, but the
// result has self's dtype, shape and strides, and what the in-place operator refuses is an Error
// too. Null for other operators. Thread-safe; lives for the whole process.
const Operator* functional_twin(const Operator& inplace);

// The operator for real and quantized tensors, from the one for real tensors: quantized ones are
// dequantized for it and its result is quantized again.
Operator quantized_variant(const Operator& base);

// The operator for dense and sparse tensors, from one that has a sparse form (ops/sparse/sparse.h).
Operator sparse_variant(const Operator& base);

}  // namespace torchlet::ops
