#pragma once

#include "graph/graph.h"
#include "passes/analysis/alias.h"
#include "passes/evaluate.h"

namespace torchlet::passes {

// Computes tensors that are made of constants and then written: masks that are filled region by
// region, biases of which a part is zeroed. All that reads or writes such memory, up to the last
// write, is in one block and of values that are known by then, and nobody outside sees the memory.
bool fold_written(Graph& graph, const AliasAnalysis& aliases, FoldBudget& budget);

}  // namespace torchlet::passes
