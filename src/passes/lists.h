#pragma once

#include "graph/graph.h"

namespace torchlet::passes {

// A list that is made and appended to in one block before anybody reads it is made at once:
// l = []; l.append(a); l.append(b)  ->  l = [a, b].
bool merge_appends(Graph& graph);

}  // namespace torchlet::passes
