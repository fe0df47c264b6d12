// The types of arguments and results that old bytecode does not tell.
#pragma once

#include "graph/graph.h"
#include "graph/schema.h"

namespace torchlet::lite {

// The type that is wanted of the value where it is used; Tensor, as in TorchScript, if that tells
// none.
TypePtr type_of_uses(const SsaValue& value);

// Gives arguments of unknown types those of their uses in the graph. The result has the type of
// what the graph gives. True if an argument's type changed: then the graph, made anew, knows more.
bool infer_schema(Schema& schema, const Graph& graph);

}  // namespace torchlet::lite
