// What passes that put one operator in the place of others share.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace torchlet::passes {

// A call of the operator in front of `before`, at its place in the program. Its outputs have the
// types of the schema.
Node* insert_call(Node* before, const Operator& op, std::vector<SsaValue*> inputs);

// Has `made` stand for `node`, which goes; both have one output.
void replace_by(Node& node, Node& made);

// The node that makes the value in the same block as `user`, for it alone; else null.
Node* sole_maker(const SsaValue* value, const Node& user);

// Of a constant list of ints; nothing if it is something else.
std::optional<std::vector<int64_t>> constant_ints(const SsaValue* value);

}  // namespace torchlet::passes
