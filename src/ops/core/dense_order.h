// Tensors that lie dense, in the order of memory.
#pragma once

#include <optional>

#include "ops/core/common.h"

namespace torchlet::ops {

// The dimensions in the order of memory, the widest stride first, if the tensor lies dense:
// permuted so it is contiguous.
std::optional<IntArray> dense_order(const Tensor& tensor);
// Where each dimension went: permutes back.
IntArray inverse_order(const IntArray& order);

}  // namespace torchlet::ops
