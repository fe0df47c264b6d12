// Operators that have no kernel for what they are given run their reference implementation.
#pragma once

#include "device/cpu/builder.h"

namespace torchlet::cpu {

// A step for each output that is used. Declined if one is something else than a tensor.
void add_reference_step(PlanBuilder& plan, const Call& call, device::SpecialisedSegment& segment);

}  // namespace torchlet::cpu
