#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// Merges products, quotients, sums and differences of a layer's output and a constant, one number
// or one for each channel, into the layer that alone feeds them, and products of a number into the
// layer that alone reads them: the gains of networks without norms (Brock et al., "High-Performance
// Large-Scale Image Recognition Without Normalization", 2021), layer scale (Touvron et al., "Going
// deeper with Image Transformers", 2021). Results differ by rounding alone.
bool fold_scales(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
