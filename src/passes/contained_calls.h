#pragma once

#include "graph/graph.h"
#include "passes/analysis/read_write_sets.h"

namespace torchlet::passes {

// A call of a module that the run picks from a container by its key (`self.layers[i]`, typed as an
// interface) becomes branches on the key, one for each module of the container: what they call is
// known, so it can be inlined, and its attributes frozen. What a constant key picks is known
// without branches ("freeze").
bool branch_contained_calls(Graph& graph, KnownObjects& objects);

}  // namespace torchlet::passes
