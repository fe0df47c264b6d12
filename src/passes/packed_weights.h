#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// Makes the C++ objects that a graph makes of constants (quantized::conv2d_prepack and its like)
// once and for all, however large they are.
bool pack_weights(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
