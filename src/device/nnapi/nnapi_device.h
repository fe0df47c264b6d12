// Android's NNAPI as a device: segments become its models (docs/nnapi.md).
#pragma once

#include <memory>

#include "device/registry.h"

namespace torchlet::nnapi {

// Error kUnsupported if this process finds no libneuralnetworks.so, and kInvalidArgument, naming
// those there are, if it has no device of the name `config.part`. Precision::kFloat16 lets drivers
// compute what is float32 in float16.
std::shared_ptr<device::Device> make_nnapi_device(const device::DeviceConfig& config = {});
// NNAPI's devices: accelerators, and Android's own or our plain implementation.
std::vector<device::DevicePart> nnapi_parts();

inline constexpr device::DeviceEntry kNnapiDevice = {
    "nnapi", "accelerators behind Android's NNAPI, or libneuralnetworks.so on Linux",
    [](const device::DeviceConfig& config) { return make_nnapi_device(config); }, nnapi_parts};

}  // namespace torchlet::nnapi
