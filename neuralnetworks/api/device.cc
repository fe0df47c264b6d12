#include "neuralnetworks/api/device.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

using namespace torchlet::nn;

namespace torchlet::nn {
namespace {

constexpr int64_t kFeatureLevel = ANEURALNETWORKS_FEATURE_LEVEL_7;

constexpr DeviceObject kDevices[] = {
    {"torchlet-cpu", "cpu", ANEURALNETWORKS_DEVICE_CPU},
    {"torchlet-reference", "reference", ANEURALNETWORKS_DEVICE_CPU},
};

struct ShownDevices {
  DeviceList devices;
  std::vector<ANeuralNetworksDevice*> handles;
};

void show(std::string_view name, ShownDevices& shown) {
  const auto* found = std::ranges::find(kDevices, name, &DeviceObject::name);
  if (found == std::end(kDevices)) {
    log("TORCHLET_NNAPI_DEVICES: there is no device '%.*s'", static_cast<int>(name.size()),
        name.data());
    return;
  }
  const auto device = std::make_shared<DeviceObject>(*found);
  shown.devices.push_back(device);
  shown.handles.push_back(make_handle(device));
}

// TORCHLET_NNAPI_DEVICES names those that are shown, in their order; all if it names none.
const ShownDevices& shown() {
  static const ShownDevices& all = *[] {
    auto* made = new ShownDevices;
    const char* chosen = std::getenv("TORCHLET_NNAPI_DEVICES");
    std::string_view rest = chosen ? chosen : "";
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(','), rest.size());
      show(rest.substr(0, end), *made);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (made->devices.empty()) {
      for (const DeviceObject& device : kDevices) show(device.name, *made);
    }
    return made;
  }();
  return all;
}

}  // namespace

const DeviceList& shown_devices() { return shown().devices; }

DeviceList find_devices(const ANeuralNetworksDevice* const* devices, uint32_t count) {
  if (count == 0) refuse(ANEURALNETWORKS_BAD_DATA, "an empty list of devices");
  DeviceList found;
  // No longer list is without duplicates.
  for (uint32_t i = 0; i < count && found.size() <= shown_devices().size(); ++i) {
    std::shared_ptr<const DeviceObject> device = find<DeviceObject>(devices[i]);
    if (std::ranges::find(found, device) != found.end()) {
      refuse(ANEURALNETWORKS_BAD_DATA, "%s is twice in the list of devices", device->name);
    }
    found.push_back(std::move(device));
  }
  return found;
}

std::vector<std::string> torchlet_devices(const DeviceList& devices) {
  std::vector<std::string> names;
  for (const auto& device : devices) {
    names.emplace_back(device->torchlet_name);
    if (names.back() == "reference") break;
  }
  return names;
}

}  // namespace torchlet::nn

int64_t ANeuralNetworks_getRuntimeFeatureLevel() { return kFeatureLevel; }

int ANeuralNetworks_getDeviceCount(uint32_t* numDevices) {
  return answer(__func__, [&] {
    require(numDevices, "numDevices");
    *numDevices = static_cast<uint32_t>(shown().handles.size());
  });
}

int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice** device) {
  return answer(__func__, [&] {
    require(device, "device");
    *device = nullptr;
    const auto& handles = shown().handles;
    if (devIndex >= handles.size()) {
      refuse(ANEURALNETWORKS_BAD_DATA, "there is no device %u, only %zu", devIndex, handles.size());
    }
    *device = handles[devIndex];
  });
}

int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice* device, const char** name) {
  return answer(__func__, [&] {
    require(name, "name");
    *name = find<DeviceObject>(device)->name;
  });
}

int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice* device, int32_t* type) {
  return answer(__func__, [&] {
    require(type, "type");
    *type = find<DeviceObject>(device)->type;
  });
}

int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice* device, const char** version) {
  return answer(__func__, [&] {
    require(version, "version");
    find<DeviceObject>(device);
    *version = TORCHLET_VERSION;
  });
}

int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice* device,
                                          int64_t* featureLevel) {
  return answer(__func__, [&] {
    require(featureLevel, "featureLevel");
    find<DeviceObject>(device);
    *featureLevel = kFeatureLevel;
  });
}

int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice* device) {
  return answer(__func__, [&] { find<DeviceObject>(device); });
}
