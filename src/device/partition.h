// Cuts the straight-line regions that devices take out of a graph.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "device/device.h"
#include "device/placement.h"

namespace torchlet::device {

// Replaces runs of nodes that a device takes by prim::Segment nodes, in all blocks: those that the
// first takes; then, of the rest and of what is inside the first one's segments, those that the
// second takes; and so on. So what a device refuses when it knows the inputs is the next one's. The
// segments point into the graph, which must not change afterwards.
//
// A segment has a key: its device, a hash of its operators and of where they come from, and a
// number among those alike. The same graph, cut for the same devices, has the same keys. Those of
// `left` are not made, and what they held is left to the devices after theirs.
using SegmentKeys = std::set<std::string, std::less<>>;
// Says in `log` which device refused what, and why; of those of `left`, kLeftByTuning.
inline constexpr char kLeftByTuning[] = "it was measured, and is faster on what comes after";
void partition(Graph& graph, std::span<const std::shared_ptr<Device>> devices,
               std::shared_ptr<PlacementLog> log, const SegmentKeys& left = {});

}  // namespace torchlet::device
