// The processor as a device: segments become plans of NHWC kernels.
#pragma once

#include <torchlet/precision.h>

#include <memory>

#include "device/device.h"

namespace torchlet::cpu {

// One for a loaded model: its segments share the memory of their activations. Where the processor
// lacks the arithmetic of a precision, float32 takes its place.
std::unique_ptr<device::Device> make_cpu_device(Precision precision = Precision::kFloat32);

}  // namespace torchlet::cpu
