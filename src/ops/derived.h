// In-place and out= variants, made from the functional operator so that nobody writes them twice.
#pragma once

#include <string_view>

#include "graph/operator.h"

namespace torchlet::ops {

// aten::add.Tensor -> aten::add_.Tensor
Operator inplace_variant(const Operator& base);
// aten::max.dim + "dim_max(max, max_values)" -> aten::max.dim_max(..., *, Tensor(a!) max,
// Tensor(b!) max_values)
Operator out_variant(const Operator& base, std::string_view overload);

}  // namespace torchlet::ops
