// The processor as a device: segments become plans of NHWC kernels.
#pragma once

#include <memory>

#include "device/device.h"

namespace torchlet::cpu {

// One for a loaded model: its segments share the memory of their activations.
std::unique_ptr<device::Device> make_cpu_device();

}  // namespace torchlet::cpu
