#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// A relu of a sum that nobody else reads becomes aten::_add_relu, if one of the tensors comes from
// a float32 layer: PyTorch's operator takes few dtypes.
bool fuse_add_relus(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
