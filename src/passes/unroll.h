#pragma once

#include "graph/graph.h"
#include "passes/evaluate.h"

namespace torchlet::passes {

// Loops of few trips, of which constants tell how many, become what their bodies do one after the
// other: then each trip's numbers are known, and devices get all of it in one piece. The
// graph gets at most so many nodes. With `that_pick` only loops that pick modules from containers,
// which then call one each.
bool unroll_loops(Graph& graph, FoldBudget& budget, size_t most_nodes, bool that_pick);

}  // namespace torchlet::passes
