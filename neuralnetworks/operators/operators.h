// Operators that NNAPI has and PyTorch has not, "nnapi::...", declared as those of src/ops
// (ops/core/op.h) with a line in operator_list.inc. Only libneuralnetworks.so has them.
#pragma once

#include <string_view>

#include "graph/operator.h"

namespace torchlet::nn {

// Null if there is none of that name. It lives as long as the process. Thread-safe.
const Operator* find_own_operator(std::string_view name);

}  // namespace torchlet::nn
