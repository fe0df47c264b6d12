#pragma once

#include "graph/graph.h"
#include "passes/analysis/read_write_sets.h"

namespace torchlet::passes {

// What is stored in an attribute of a known object and read again in the same block, or in a branch
// of it, is passed on directly. The attribute is written as before.
bool forward_attributes(Graph& graph, KnownObjects& objects);

}  // namespace torchlet::passes
