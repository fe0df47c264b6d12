// Nested tensors: a list of tensors of one dtype and rank but different sizes.
#pragma once

#include <vector>

#include "ops/core/common.h"

namespace torchlet::ops {

bool is_nested(const Tensor& tensor);
// Error if the tensor is not nested.
const std::vector<Tensor>& nested_parts(const Tensor& tensor);
// A nested tensor has one dimension more than its parts; its sizes past the first are unknown (0).
Tensor make_nested(std::vector<Tensor> parts);

}  // namespace torchlet::ops
