#pragma once

#include <unordered_map>

#include "graph/graph.h"

namespace torchlet::passes {

// Replaces questions about tensors whose answers are known by constants: the dtype of what a layer
// with constant weights gives, and whether a tensor is nested, sparse or quantized. If it is
// `here` that the graph runs, also a tensor's device (there is only the CPU), and
// is_grad_enabled() where the method does not change it. Scripted attention layers ask all of this.
bool fold_properties(Graph& graph, bool here = true);

// Of the tensors whose dtype is known.
std::unordered_map<const SsaValue*, DType> known_dtypes(Graph& graph);

}  // namespace torchlet::passes
