// Operators on meta tensors (tensor/meta.h).
#pragma once

#include <optional>
#include <vector>

#include "graph/operator.h"
#include "tensor/meta.h"

namespace torchlet::ops {

// A tensor as a meta tensor, also in a list; every other value as it is.
Value meta_value(const Value& value);

// What the operator, which has no effects, gives for these arguments, its tensors being meta
// tensors. Nothing if it would have to see their elements. Error if it takes no such arguments.
std::optional<std::vector<Value>> call_on_meta(const Operator& op, std::vector<Value> arguments);

}  // namespace torchlet::ops
