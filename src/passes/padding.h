#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// Lets a convolution pad its input itself where a constant padding by zeros, the same at both ends
// of each dimension, feeds it alone (ZeroPad2d, F.pad).
bool fold_padding(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
