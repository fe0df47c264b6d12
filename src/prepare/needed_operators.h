// What a small build of the library needs for a model (docs/small.md).
#pragma once

#include <torchlet/module.h>

#include <map>
#include <set>
#include <string>

namespace torchlet::prepare {

// The operators that stand in the methods of `module` when they have been optimised, segments of
// devices included: passes put in some that the file does not name. By full names, each with how
// often it stands there.
std::map<std::string, size_t> optimized_operators(const Module& module);

// The passes that change its methods when they are optimised as loading does; the others have
// nothing to do for it.
std::set<std::string> needed_passes(const Module& module);

// Of TORCHLET_FEATURES, those that tensors of the model need, or operators of it that are told a
// dtype or make tensors of other things.
std::set<std::string> needed_features(const Module& module);

}  // namespace torchlet::prepare
