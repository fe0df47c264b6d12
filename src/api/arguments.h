// From what a caller passes to what a function takes.
#pragma once

#include <torchlet/module.h>

#include <vector>

#include "graph/schema.h"

namespace torchlet::api {

// self and the arguments in the order of the schema, converted and with defaults filled in. Error
// kInvalidArgument, in PyTorch's words where it has them.
std::vector<Value> bind_arguments(const Schema& schema, const Value& self,
                                  std::vector<Value> arguments, const Kwargs& kwargs);

// The value as `type`, or Error kInvalidArgument "expected List[int], got a str". Conversions as
// PyTorch's toIValue (torch/csrc/jit/python/pybind_utils.cpp).
Value convert(const Value& value, const TypePtr& type);

}  // namespace torchlet::api
