// ANeuralNetworksDevice.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neuralnetworks/api/handles.h"

namespace torchlet::nn {

struct DeviceObject {
  using Handle = ANeuralNetworksDevice;
  static constexpr const char* kName = "device";

  const char* name;
  const char* torchlet_name;  // of the device of Torchlet that it is
  int32_t type;               // a DeviceTypeCode
};

using DeviceList = std::vector<std::shared_ptr<const DeviceObject>>;

// Those that the runtime shows, in the order of preference.
const DeviceList& shown_devices();

// UNEXPECTED_NULL if one is null; BAD_DATA if there are none, or one is none or is there twice.
DeviceList find_devices(const ANeuralNetworksDevice* const* devices, uint32_t count);

// As compile() takes them (runtime/compiled_model.h): the reference computes everything, so none
// comes after it.
std::vector<std::string> torchlet_devices(const DeviceList& devices);

}  // namespace torchlet::nn
