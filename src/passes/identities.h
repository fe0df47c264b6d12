#pragma once

#include "graph/graph.h"
#include "passes/alias.h"

namespace torchlet::passes {

// Removes operators that give their first argument back: dropout outside of training; detach where
// nobody asks for requires_grad.
bool remove_identities(Graph& graph, const AliasAnalysis& aliases);

}  // namespace torchlet::passes
