#pragma once

#include <cstdint>
#include <unordered_map>

#include "graph/graph.h"

namespace torchlet::passes {

// Replaces aten::dim(x) by a constant where the number of dimensions is known: from a shape that
// is written out, or because an earlier check of a tensor of the same rank would have raised. A
// scripted model checks it before every batch norm; the first check is enough.
bool fold_ranks(Graph& graph);

// Numbers of dimensions, of the tensors for which they are known wherever these are used.
std::unordered_map<const SsaValue*, int64_t> known_ranks(Graph& graph);

}  // namespace torchlet::passes
