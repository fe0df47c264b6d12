#pragma once

#include "graph/graph.h"

namespace torchlet::passes {

// Lets a convolution pad its input itself where a constant padding by zeros, the same at both ends
// of each dimension, feeds it alone (ZeroPad2d, F.pad).
bool fold_padding(Graph& graph);

}  // namespace torchlet::passes
