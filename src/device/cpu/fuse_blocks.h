// Steps that become one after all are known.
#pragma once

#include "device/cpu/plan.h"

namespace torchlet::cpu {

// Joins the convolutions of inverted residual blocks (pointwise, depthwise, pointwise; also the
// first or the last two alone) where their wide images would leave the cache.
void fuse_inverted_residuals(Plan& plan);

}  // namespace torchlet::cpu
