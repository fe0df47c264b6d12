// Which values of a file are one.
#pragma once

#include <torchlet/value.h>

#include <optional>
#include <string>

namespace torchlet::lite {

// The content of None, a number, a string or a device: equal for equal values of one kind. Nothing
// for values that are shared by reference.
std::optional<std::string> plain_identity(const Value& value);
// The address of what a value refers to, for all other kinds.
const void* identity_of(const Value& value);

}  // namespace torchlet::lite
