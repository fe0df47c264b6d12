// The casts that bytecode leaves out.
#pragma once

#include "graph/graph.h"
#include "graph/schema.h"

namespace torchlet::lite {

// PyTorch's compiler knows of a value of type Optional, Union or Any what it is where the program
// has asked (`x is not None`, `isinstance`), but its bytecode does not tell. Wherever less than the
// type of a value is taken, this puts a prim::unchecked_cast to what is taken, so that the graph
// can be written as source and read again.
void add_casts(Graph& graph, const Schema& schema);

}  // namespace torchlet::lite
