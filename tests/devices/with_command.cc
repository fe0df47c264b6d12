// Adds the test devices to the command.
#include "test_devices.h"

static const bool kAdded = (torchlet::device::add_test_devices(), true);
