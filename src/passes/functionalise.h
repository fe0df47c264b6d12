#pragma once

#include "graph/graph.h"
#include "passes/analysis/alias.h"

namespace torchlet::passes {

// Replaces elementwise in-place operators by their functional twins (ops/core/derived.h) where
// nobody else can see the memory: self was made in the same block, is not kept, and no other name
// of it is used afterwards. Later uses of self read the result.
bool functionalise(Graph& graph, const AliasAnalysis& aliases);

}  // namespace torchlet::passes
