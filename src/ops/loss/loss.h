// Pieces that the loss functions share.
#pragma once

#include "ops/core/common.h"

namespace torchlet::ops {

enum class Reduction { kNone = 0, kMean = 1, kSum = 2 };
// PyTorch's number for it; Error if it is none.
Reduction to_reduction(int64_t number);
Tensor reduce_loss(const Tensor& loss, Reduction reduction);

// norm(x1 - x2 + eps) over the last dimension.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim);

}  // namespace torchlet::ops
