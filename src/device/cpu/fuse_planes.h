#pragma once

#include "device/cpu/plan.h"

namespace torchlet::cpu {

// A depthwise layer, or one of small groups or a pointwise one of few channels, between NCHW
// tensors reads and writes them itself.
void fuse_planes(Plan& plan);

}  // namespace torchlet::cpu
