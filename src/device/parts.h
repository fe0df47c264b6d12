// A segment of which a device takes some calls: it runs those, and later devices the others.
#pragma once

#include <memory>
#include <span>

#include "device/device.h"
#include "device/placement.h"

namespace torchlet::device {

// Cuts `segment` where `device` begins or ends to refuse calls, and compiles the parts: those that
// it refuses by the first of `next` that takes them. Says in `log` who got what, and why. A refusal
// if some part finds nobody.
Compilation compile_in_parts(SpecialisedSegment& segment, Device& device,
                             std::span<const RefusedCall> refused,
                             std::span<const std::shared_ptr<Device>> next, PlacementLog& log);

// Says in `log` which calls of what was `made` call the reference implementation, and why.
void log_reference_calls(const SpecialisedSegment& segment, const Device& device,
                         const Compilation& made, PlacementLog& log);

}  // namespace torchlet::device
