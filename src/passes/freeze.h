#pragma once

#include "passes/analysis/alias.h"
#include "passes/analysis/read_write_sets.h"

namespace torchlet::passes {

// Replaces attributes of known objects by constants where these are plain (numbers, strings, None,
// tuples of them, packed weights), narrows the types of optional attributes to what they hold, and
// finds the methods that are called through interfaces.
bool freeze_plain(Graph& graph, KnownObjects& objects);

// Replaces attributes that hold tensors, lists and dicts by constants that share their memory,
// unless this graph or `objects.writes()` writes them; constants of the program that are written
// are marked (passes/analysis/constants.h). `aliases` are of this graph, after its calls were
// inlined.
bool freeze_tensors(Graph& graph, KnownObjects& objects, const AliasAnalysis& aliases);

}  // namespace torchlet::passes
