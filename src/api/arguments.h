// From what a caller passes to what a function takes.
#pragma once

#include <torchlet/module.h>

#include <span>
#include <vector>

#include "graph/schema.h"

namespace torchlet::api {

// Fills `bound`, which is empty, with self and the arguments in the order of the schema, converted
// and with defaults filled in. Error kInvalidArgument, in PyTorch's words where it has them.
void bind_arguments(const Schema& schema, const Value& self, std::span<const Value> arguments,
                    const Kwargs& kwargs, std::vector<Value>& bound);

// The value as `type`, or Error kInvalidArgument "expected List[int], got a str". Conversions as
// PyTorch's toIValue (torch/csrc/jit/python/pybind_utils.cpp).
Value convert(const Value& value, const TypePtr& type);

}  // namespace torchlet::api
