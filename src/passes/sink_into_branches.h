#pragma once

#include "graph/graph.h"

namespace torchlet::passes {

// Moves what only one branch needs into that branch: the text of an error is made when it is
// raised. Only nodes that do nothing else and cannot raise. Empty dicts move to their first use.
bool sink_into_branches(Graph& graph);

}  // namespace torchlet::passes
