#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// A function of single numbers that alone reads what layers give, joined (aten::cat), is applied to
// each of these first: there it can become part of the layer.
bool join_last(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
