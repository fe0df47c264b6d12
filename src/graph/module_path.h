#pragma once

#include <string>

#include "graph/graph.h"

namespace torchlet {

// Of a prim::CallMethod: the attributes that lead from the self of the function in which it was
// written to the object it is called on: "features.3.conv". Empty if the object is not reached so.
std::string module_path(const Node& call);

// Of any node: the path from the graph's self to the object whose method it was inlined from. Empty
// for a node of the graph's own function.
std::string inlined_module_path(const Node& node);

}  // namespace torchlet
