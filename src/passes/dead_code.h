#pragma once

#include "graph/graph.h"

namespace torchlet::passes {

// Removes nodes that nobody sees: their outputs have no users, they do nothing else, and they
// cannot raise. Outputs of If and Loop that nobody uses go too.
bool remove_dead_code(Graph& graph);

}  // namespace torchlet::passes
