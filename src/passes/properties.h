#pragma once

#include "graph/graph.h"

namespace torchlet::passes {

// Replaces questions about tensors whose answers are known by constants: the dtype of what a layer
// with constant weights gives, whether a tensor is nested, sparse or quantized, its device (there
// is only the CPU), and is_grad_enabled() where the method does not change it. Scripted attention
// layers ask all of this.
bool fold_properties(Graph& graph);

}  // namespace torchlet::passes
