// Loops as Python writes them.
#pragma once

#include "graph/graph.h"

namespace torchlet::script {

// `for i in range(most)`: runs its number of times.
bool is_for_loop(const Node& loop);
// `while condition`: has no other end and does not count.
bool is_while_loop(const Node& loop);

// Is there a loop that is neither, one that `break` leaves?
bool has_mixed_loop(const Graph& graph);
// Makes them count by themselves, as `while` loops (PyTorch's canonicalize_modified_loops.cpp).
void unmix_loops(Graph& graph);

}  // namespace torchlet::script
