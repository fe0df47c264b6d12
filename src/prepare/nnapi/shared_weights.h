// Weights that NNAPI and the program beside it both read.
#pragma once

#include <vector>

#include "prepare/draft.h"

namespace torchlet::prepare {

// NNAPI's weights often have the elements of constants of the graph, in the same order or in that
// of [n, h, w, c]. Such constants become attributes of the root which are views of `weights`, so
// that a file holds their elements once. The program gets them contiguous, as they were.
void share_weights(Graph& graph, const std::vector<Tensor>& weights, const ClassType& root,
                   Draft& draft);

}  // namespace torchlet::prepare
