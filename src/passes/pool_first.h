#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// A convolution of single pixels and the average pool that alone reads it change places: the same
// numbers but for rounding, of fewer pixels where the pool steps over some. Pools of two dimensions
// without padding, since what lies around the picture would get the bias, too.
bool pool_first(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
