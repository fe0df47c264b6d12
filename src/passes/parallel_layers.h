#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// Convolutions of one value that are added up, or subtracted, become one (Ding et al., "RepVGG:
// Making VGG-style ConvNets Great Again", 2021, section 3.3): what a smaller window multiplies with
// is added to the middle of the largest. A batch norm of the value with constant statistics is a
// window of one pixel. Linear layers of one value likewise. The sums of weights are computed in
// double, so results differ by rounding alone. Layers whose results somebody else reads stay, as do
// those whose windows are not inside one of them or step differently, and transposed ones.
bool merge_parallel_layers(Graph& graph, ChangeLog* log = nullptr);

// The same of a layer and the value that it reads, which is a window of one pixel and a one. Not
// before layers are quantized: the one makes the steps of the other weights coarse.
bool merge_residuals(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
