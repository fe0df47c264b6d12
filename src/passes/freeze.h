#pragma once

#include "passes/alias.h"
#include "passes/heap.h"

namespace torchlet::passes {

// Replaces attributes of known objects by constants where these are plain (numbers, strings, None,
// tuples of them, packed weights), narrows the types of optional attributes to what they hold, and
// finds the methods that are called through interfaces.
bool freeze_plain(Graph& graph, Heap& heap);

// Replaces attributes that hold tensors, lists and dicts by constants that share their memory,
// unless this graph or `heap.writes()` writes them; constants of the program that are written are
// marked (passes/constants.h). `aliases` are of this graph, after its calls were inlined.
bool freeze_tensors(Graph& graph, Heap& heap, const AliasAnalysis& aliases);

}  // namespace torchlet::passes
