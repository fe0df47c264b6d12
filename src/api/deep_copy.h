#pragma once

#include <torchlet/value.h>

namespace torchlet::api {

// A copy that shares nothing that a program can change: tensors, lists, dicts and objects are new,
// and what was shared inside `value` is shared inside the copy. C++ objects (packed weights) cannot
// be changed and stay the same.
Value deep_copy(const Value& value);

// The same, but that tensors share their memory with the original's, and need no gradients.
Value detached_copy(const Value& value);

}  // namespace torchlet::api
