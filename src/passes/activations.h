#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// A relu, relu6, hardtanh or clamp of what a packed layer (prepacked::*_clamp_run with a constant
// context) gives to it alone becomes the bounds of that layer. Only such layers have bounds, so
// this is of use after prepack_layers().
bool fuse_activations(Graph& graph, ChangeLog* log = nullptr);

// A relu of what a quantized operator gives to it alone makes it the one of the same arguments
// that ends in a relu: quantized::conv2d becomes quantized::conv2d_relu. The answers are the same.
bool fuse_quantized_relus(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
