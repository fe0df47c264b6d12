#pragma once

#include "graph/graph.h"
#include "passes/analysis/alias.h"

namespace torchlet::passes {

// Common subexpression elimination of what is cheap and plain: numbers, strings and comparisons of
// these, sizes and other properties of tensors that nobody writes.
bool share_common_values(Graph& graph, const AliasAnalysis& aliases);

}  // namespace torchlet::passes
