#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// Replaces conv2d, conv_transpose2d and linear with constant float32 weights by the packed layers
// of PyTorch Mobile (prepacked::conv2d_clamp_run and its relatives), whose contexts become
// constants. These take batches of images only (4 dimensions), and inputs that need no gradient.
bool prepack_layers(Graph& graph, ChangeLog* log = nullptr);

// The other way round, so that devices need not know them, and additions with a relu
// (aten::_add_relu) as well.
bool unpack_layers(Graph& graph);

}  // namespace torchlet::passes
