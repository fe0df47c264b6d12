// Cuts the straight-line regions that devices take out of a graph.
#pragma once

#include <memory>
#include <span>

#include "device/device.h"
#include "device/placement.h"

namespace torchlet::device {

// Replaces runs of nodes that a device takes by prim::Segment nodes, in all blocks: those that the
// first takes; then, of the rest and of what is inside the first one's segments, those that the
// second takes; and so on. So what a device refuses when it knows the inputs is the next one's. The
// segments point into the graph, which must not change afterwards.
void partition(Graph& graph, std::span<const std::shared_ptr<Device>> devices,
               std::shared_ptr<PlacementLog> log);

}  // namespace torchlet::device
