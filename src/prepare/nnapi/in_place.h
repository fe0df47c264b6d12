// Operators in place, which NNAPI has none of.
#pragma once

#include "graph/graph.h"

namespace torchlet::prepare {

// Those on memory of their own give new memory (passes/functionalise.h), by operators of ours that
// cannot be written into a file.
void compute_out_of_place(Graph& graph);
// What is left of these operators computes in place again, on copies.
void compute_in_place(Graph& graph);

}  // namespace torchlet::prepare
