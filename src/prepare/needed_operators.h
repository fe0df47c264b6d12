// What a small build of the library needs for a model (docs/small.md).
#pragma once

#include <torchlet/module.h>

#include <map>
#include <string>

namespace torchlet::prepare {

// The operators that stand in the methods of `module` when they have been optimised, segments of
// devices included: passes put in some that the file does not name. By full names, each with how
// often it stands there.
std::map<std::string, size_t> optimized_operators(const Module& module);

}  // namespace torchlet::prepare
