#pragma once

#include "base/selection.h"
#include "device/cpu/builder.h"
#include "kernels/elementwise/elementwise_nhwc.h"

namespace torchlet::cpu {

// Networks that only add do so to sums of the same size.
constexpr bool kHasBroadcasts = selection::has_operator("aten::mul") ||
                                selection::has_operator("aten::sub") ||
                                selection::has_operator("aten::div");

// The result of a new step: op(a, b) of two tensors of one dtype whose sizes are spread over each
// other in any way (torch.broadcast_tensors). It lies as the larger one does.
TensorId add_broadcast(PlanBuilder& plan, kernels::MatrixBinaryOp op, TensorId a, TensorId b);

}  // namespace torchlet::cpu
