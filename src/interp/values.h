// What the prim:: nodes do to values.
#pragma once

#include <span>
#include <string>

#include "tensor/containers.h"

namespace torchlet::interp {

// Items of a list or a tuple; Error if there are not exactly `count`.
std::span<const Value> unpacked(const Value& sequence, size_t count);
// tuple[index] with Python's negative indices.
Value tuple_item(const Value& tuple, int64_t index);
// The submodule of a ModuleDict or ModuleList; the latter's are called "0", "1", ..., so that
// negative indices are errors, as they are in PyTorch.
Value contained_module(const Value& container, const Value& key);
Value make_tuple(const TypePtr& type, std::span<Value> items);
Value make_dict(const TypePtr& type, std::span<Value> keys_and_values);
// Numbers of a tensor as `type`: a number, or lists as deep as the tensor has dimensions.
Value tensor_to_list(const Tensor& tensor, const TypePtr& type);
// What Python's print writes, without the line's end.
std::string printed(std::span<const Value> values);
// Raises `message` as the Python class ("builtins.ValueError"; None for a plain Exception).
[[noreturn]] void raise(const Value& message, const Value& python_class);

}  // namespace torchlet::interp
