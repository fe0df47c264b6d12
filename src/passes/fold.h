#pragma once

#include "graph/graph.h"
#include "passes/alias.h"

namespace torchlet::passes {

// Computes what is known before a run: operators on constants, branches on constant conditions,
// comparisons with None that types decide, what is put into a tuple or list and taken out again.
// Without `aliases` only of numbers, strings, None and tuples; with them also of tensors and lists
// that nobody writes and that do not leave the graph.
bool fold_constants(Graph& graph, const AliasAnalysis* aliases);

}  // namespace torchlet::passes
