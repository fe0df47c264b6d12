// Leaves out of a draft what its methods do not use.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>

#include "prepare/draft.h"
#include "prepare/used_attributes.h"

namespace torchlet::prepare {

// Removes attributes of the module that are not used, but for those that `stays` is true of, and
// has the others hold only what is used of them. Returns the names of those that are left.
std::unordered_set<std::string> prune(
    Draft& draft, const Module& module, UsedAttributes& used,
    const std::function<bool(const std::string& name, const Value& value)>& stays);

}  // namespace torchlet::prepare
