// Padding, named by torch.nn.functional.pad. `pad` holds (before, after) of the last dimension,
// then of the one before it, and so on; negative amounts crop.
#pragma once

#include "ops/core/common.h"

namespace torchlet::ops {

enum class PadMode { kConstant, kReflect, kReplicate, kCircular };

Tensor constant_pad(const Tensor& self, IntSpan pad, const Scalar& value);
// kReflect, kReplicate, kCircular; pads 1 to 3 dimensions.
Tensor border_pad(const Tensor& self, IntSpan pad, PadMode mode);

}  // namespace torchlet::ops
