#pragma once

#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// A product with a constant matrix, and then the sum with a constant vector of one number for each
// of its columns, is a linear layer with a bias: x @ w + b, and torch.linear(x, w) + b. What reads
// the product besides keeps it as it is.
bool fold_linear_biases(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
