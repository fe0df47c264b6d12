#pragma once

#include "graph/graph.h"
#include "passes/analysis/alias.h"
#include "passes/evaluate.h"

namespace torchlet::passes {

// Computes what is known before a run: operators on constants, branches on constant conditions,
// comparisons with None that types decide, what is put into a tuple or list and taken out again.
// Without `aliases` only of numbers, strings, None and tuples; with them also of tensors and lists
// that nobody writes and that do not leave the graph. Casts of known values go, but with
// `keep_casts` only those that its reader does not need to know the type of what they give.
bool fold_constants(Graph& graph, const AliasAnalysis* aliases, FoldBudget& budget,
                    bool keep_casts = false);

}  // namespace torchlet::passes
