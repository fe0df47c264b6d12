#pragma once

#include "graph/graph.h"

namespace torchlet::passes {

// Removes operators that give their first argument back: dropout outside of training; detach where
// nobody asks for requires_grad.
bool remove_identities(Graph& graph);

}  // namespace torchlet::passes
