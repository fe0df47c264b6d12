#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// A conv1d with constant weights becomes a conv2d of images that are one pixel high. Only of use
// where 2d convolutions have a faster form.
bool widen_conv1d(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
