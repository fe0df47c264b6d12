// Android's NNAPI as a device: segments become its models (docs/nnapi.md).
#pragma once

#include <memory>

#include "device/registry.h"

namespace torchlet::nnapi {

// Error kUnsupported if this process finds no libneuralnetworks.so.
std::shared_ptr<device::Device> make_nnapi_device();

inline constexpr device::DeviceEntry kNnapiDevice = {
    "nnapi", "accelerators behind Android's NNAPI, or libneuralnetworks.so on Linux",
    [](const device::DeviceConfig&) { return make_nnapi_device(); }};

}  // namespace torchlet::nnapi
