// What was kept beside a model, as far as it holds here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/placement_choice.h"
#include "device/registry.h"

namespace torchlet::device {

// Those of the file beside `model`, of which these are the bytes, whose devices are here in the
// versions that were measured; `torchlet` is this library's version. Whatever is wrong with the
// file costs one line on standard error and is no Error.
std::vector<PlacementChoice> usable_placements(const std::string& model,
                                               std::span<const std::byte> bytes,
                                               std::string_view torchlet,
                                               const DeviceConfig& config);

// Of a choice, in its order. Error as of make_devices().
std::vector<std::shared_ptr<Device>> make_devices(const PlacementChoice& choice,
                                                  const DeviceConfig& config);

}  // namespace torchlet::device
