#pragma once

#include "graph/graph.h"
#include "passes/analysis/alias.h"

namespace torchlet::passes {

// Replaces elementwise in-place operators by their functional twins (ops/core/derived.h) where
// nobody else can see the memory: self was made in the same block, is not kept, and no other name
// of it is used afterwards. Later uses of self read the result. A twin takes self's dtype, which
// the functional operator of that name, as PyTorch knows it, may not: for a file only those are
// replaced that read no other tensor, by the functional operator itself. Where these change the
// dtype, the one in place is an error.
bool functionalise(Graph& graph, const AliasAnalysis& aliases, bool for_file = false);

}  // namespace torchlet::passes
