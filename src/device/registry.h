// The devices that users can choose, by name.
#pragma once

#include <torchlet/footprint.h>
#include <torchlet/precision.h>
#include <torchlet/preference.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "graph/operator.h"

namespace torchlet::device {

class WeightCache;

struct DeviceConfig {
  Precision precision = Precision::kFloat32;
  Preference preference = Preference::kSustained;
  Footprint footprint = Footprint::kFast;
  // "NAME" of "nnapi:NAME": which of those that the device stands for; empty: all of them.
  std::string part = {};
  // For what a device makes of weights; null: there is none.
  std::shared_ptr<WeightCache> weight_cache = {};
};

struct DevicePart {
  std::string name, description;
};

struct DeviceEntry {
  const char* name;
  const char* description;  // one line for the command's help
  // Throws Error and DeviceFailure if this machine has none.
  std::shared_ptr<Device> (*make)(const DeviceConfig& config);
  // Of a device that stands for several: those there are. Throws as make().
  std::vector<DevicePart> (*parts)() = nullptr;
};

// Those of the library and those that were added, in this order. Thread-safe.
std::vector<DeviceEntry> all_devices();
// A device of a program's own. Its name is new. Thread-safe.
void add_device(const DeviceEntry& entry);
// Alone: what was measured and kept for the model (device/placement_choice.h), and the processor
// where nothing is. make_devices() gives the processor for it.
inline constexpr char kAutoDevice[] = "auto";

// One for a model, in the given order; "nnapi:NAME" is a part of a device. "reference" is the
// program as it was written: what no other device takes runs so anyway, so it stands alone or at
// the end, and gives no device. Error kInvalidArgument for another name, naming those there are.
std::vector<std::shared_ptr<Device>> make_devices(std::span<const std::string> names,
                                                  const DeviceConfig& config);

// Of all operators, sorted by full name, those that the device takes as far as can be told before
// there is a program: constant arguments and inputs may yet make it refuse one.
std::vector<const Operator*> operators_taken(const Device& device);

}  // namespace torchlet::device
