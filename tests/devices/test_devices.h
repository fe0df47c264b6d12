// Devices for tests: see README.md.
#pragma once

#include <array>

#include "device/registry.h"

namespace torchlet::device {

extern const std::array<DeviceEntry, 10> kTestDevices;
// All of them, so that Options::devices may name them. To be called once.
void add_test_devices();

}  // namespace torchlet::device
