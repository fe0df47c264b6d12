#pragma once

#include "device/cpu/builder.h"
#include "kernels/elementwise/elementwise_nhwc.h"

namespace torchlet::cpu {

// The result of a new step: op(a, b), contiguous, of two tensors of one dtype whose sizes are
// spread over each other in any way (torch.broadcast_tensors).
TensorId add_broadcast(PlanBuilder& plan, kernels::MatrixBinaryOp op, TensorId a, TensorId b);

}  // namespace torchlet::cpu
