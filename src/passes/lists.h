#pragma once

#include "graph/graph.h"

namespace torchlet::passes {

// A list that is changed item by item in the block where it is made is made when it is complete:
// l = []; l.append(a); l.append(b)  ->  l = [a, b]. Who reads it before gets a list of
// its own of what there is by then; so the blocks of a DenseNet, which concatenate all that came
// before.
bool merge_writes(Graph& graph);

}  // namespace torchlet::passes
