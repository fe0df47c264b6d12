// Cuts the straight-line regions that a device takes out of a graph.
#pragma once

#include "device/device.h"

namespace torchlet::device {

// Replaces runs of nodes that the device takes by prim::Segment nodes, in all blocks. The device's
// segments point into the graph, which must not change afterwards.
void partition(Graph& graph, const Device& device);

}  // namespace torchlet::device
