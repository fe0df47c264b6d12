#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// What a product of matrices ignores, since its beta is 0, and an empty tensor stands for, becomes
// zeros: those are the same each time, so that the product can be part of a segment.
bool fill_ignored_terms(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
