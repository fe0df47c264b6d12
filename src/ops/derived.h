// In-place, copying and out= variants, made from the functional operator so that nobody writes them
// twice.
#pragma once

#include <string_view>

#include "graph/operator.h"

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

}  // namespace torchlet::ops
