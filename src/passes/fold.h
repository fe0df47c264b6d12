#pragma once

#include <cstddef>

#include "graph/graph.h"
#include "passes/analysis/alias.h"

namespace torchlet::passes {

// What computing the constants of one method may take beside what the sizes of its constants allow.
// A run may never get to what is computed here, so what needs more is left to the run.
struct FoldBudget {
  double seconds = 0.5;
  size_t growth = size_t{64} << 20;  // bytes of constants larger than what they are computed from
};

// Computes what is known before a run: operators on constants, branches on constant conditions,
// comparisons with None that types decide, what is put into a tuple or list and taken out again.
// Without `aliases` only of numbers, strings, None and tuples; with them also of tensors and lists
// that nobody writes and that do not leave the graph. Casts of known values go, but with `keep_casts`
// only those that its reader does not need to know the type of what they give.
bool fold_constants(Graph& graph, const AliasAnalysis* aliases, FoldBudget& budget,
                    bool keep_casts = false);

}  // namespace torchlet::passes
