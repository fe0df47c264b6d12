// Gates of squeeze and excite, which become part of the layer after them.
#pragma once

#include "device/cpu/plan.h"

namespace torchlet::cpu {

// A number for each channel that an image is multiplied by scales the weights of the pointwise
// layer that alone reads the result, where these are fewer than the pixels.
void fuse_gates(Plan& plan);

}  // namespace torchlet::cpu
