// Brings the constants of graphs into the form in which files hold them best.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"

namespace torchlet::prepare {

// An attribute of the root that graphs read in place of a constant.
struct GivenAttribute {
  std::string name;
  TypePtr type;
  Value value;
};

// Equal tensors and equal C++ objects become one, also across graphs, and a tensor that is a part
// of a memory which nothing else needs gets its own. C++ objects (packed weights) become attributes
// of self, as PyTorch's optimize_for_mobile has them, since bytecode has no such constants; their
// names are "packed_weight_0", ... without those in `taken`. Lists, tuples and dicts of tensors are
// made by the graph, since PyTorch's table of constants has none.
std::vector<GivenAttribute> settle_constants(const std::vector<Graph*>& graphs,
                                             const std::unordered_set<std::string>& taken);

// The last of this alone: constants that hold tensors in lists, tuples and dicts become nodes that
// make them.
void construct_containers(Graph& graph);

}  // namespace torchlet::prepare
