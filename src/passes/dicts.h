#pragma once

#include "graph/graph.h"

namespace torchlet::passes {

// What is put into a dict under a constant key and read again in the same block is passed on
// directly; a dict that is only filled goes. Segmentation models hand their features on so.
bool forward_dict_items(Graph& graph);

}  // namespace torchlet::passes
