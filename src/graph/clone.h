// Copies of graphs and of parts of them.
#pragma once

#include <memory>
#include <unordered_map>

#include "graph/graph.h"

namespace torchlet {

// From the values of the original to those of the copy.
using ValueMap = std::unordered_map<const SsaValue*, SsaValue*>;

// A copy of `node` in `target`, in no block yet, with copies of its blocks. `values` must hold the
// values that it uses from outside and receives those that it defines.
Node* clone_node(const Node& node, Graph& target, ValueMap& values);

// A graph of the same nodes; attributes are shared. Numbers of values are dense again.
std::unique_ptr<Graph> clone_graph(const Graph& graph);

}  // namespace torchlet
