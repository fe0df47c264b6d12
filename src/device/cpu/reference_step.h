// Operators that have no kernel for what they are given run their reference implementation.
#pragma once

#include "device/cpu/builder.h"

namespace torchlet::cpu {

// Declined if the call has another result than one tensor.
void add_reference_step(PlanBuilder& plan, const Call& call, device::SpecialisedSegment& segment);

}  // namespace torchlet::cpu
