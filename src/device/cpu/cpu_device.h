// The processor as a device: segments become plans of NHWC kernels.
#pragma once

#include <torchlet/footprint.h>
#include <torchlet/precision.h>

#include <memory>

#include "device/registry.h"

namespace torchlet::cpu {

// Its segments share the memory of their activations and packed weights. Where the processor lacks
// the arithmetic of a precision, float32 takes its place. Without a cache, which may be null, all
// weights are packed here.
std::shared_ptr<device::Device> make_cpu_device(Precision precision = Precision::kFloat32,
                                                Footprint footprint = Footprint::kFast,
                                                std::shared_ptr<device::WeightCache> cache = {});

inline constexpr device::DeviceEntry kCpuDevice = {
    "cpu", "the processor, as fast as Torchlet can",
    [](const device::DeviceConfig& config) {
      return make_cpu_device(config.precision, config.footprint, config.weight_cache);
    }};

}  // namespace torchlet::cpu
