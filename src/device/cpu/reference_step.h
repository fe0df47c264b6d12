// Operators that have no kernel for what they are given run their reference implementation.
#pragma once

#include "device/cpu/builder.h"

namespace torchlet::cpu {

// Throws what the operators throw; Declined for a node that it cannot run.
Recording record(const Node& segment, std::span<const Value> inputs);

// Declined if the node has another result than one tensor.
void add_reference_step(PlanBuilder& plan, const Node& node, const Recording& recording);

}  // namespace torchlet::cpu
