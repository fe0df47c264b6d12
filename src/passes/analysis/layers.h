// What convolutions have in common, whichever operator they are written with.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace torchlet::passes {

// Of a convolution with groups: is it transposed? Nothing if the node is something else, or if that
// is not known.
std::optional<bool> is_transposed_convolution(const Node& node);

// The context of one of PyTorch Mobile's packed layers (its second argument), if it is a constant
// of the class that the operator declares; else null.
const CustomObject* packed_context(const Node& layer);

}  // namespace torchlet::passes
