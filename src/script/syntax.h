// Questions about statements that need no types.
#pragma once

#include <string>
#include <vector>

#include "script/ast.h"

namespace torchlet::script {

// Does every way through `body` end in return, raise, break or continue?
bool always_leaves(const Body& body);

// Is there a `return` anywhere in `body`?
bool has_return(const Body& body);
// A `break` or `continue` of the loop that `body` belongs to?
bool has_jump(const Body& body);
// A `return` in another place than the end of the function?
bool has_early_return(const Body& function_body);

// The variables that `body` assigns, functions inside it apart, in the order of their first
// assignment.
std::vector<std::string> assigned_names(const Body& body);

}  // namespace torchlet::script
