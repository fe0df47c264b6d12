#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// Removes operators that give their first argument back: dropout outside of training; detach where
// nobody asks for requires_grad.
bool remove_identities(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
