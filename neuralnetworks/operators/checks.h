// What own operators ask of their arguments, which come from a model and may be anything.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "tensor/tensor_impl.h"

namespace torchlet::nn {

// Error kInvalidArgument, naming `what`, unless the tensor has these sizes; -1 is any size.
void check_sizes(const Tensor& tensor, std::initializer_list<int64_t> sizes, const char* what);

}  // namespace torchlet::nn
