// Small questions about constants that the passes ask.
#pragma once

#include <string_view>

#include "base/function_ref.h"
#include "graph/graph.h"

namespace torchlet::passes {

// The value of a prim::Constant, else null; null too if its memory is written (mark_written).
const Value* constant_of(const SsaValue* value);
// Of an argument of the node's operator, the default if it is left out; null if it is not known, or
// if the operator has no argument of that name.
const Value* constant_argument(const Node& node, std::string_view name);
// A prim::Constant in front of `before`, with its range.
SsaValue* insert_constant(Node* before, Value value, TypePtr type);
// Notes that somebody writes the memory of this constant.
void mark_written(Node& constant);
// Calls visit(part) for the value, and for what a list, tuple or dict holds (dict keys, too) if it
// returns true for it. Without recursion, and once for what is held several times: a program nests
// and shares values as it likes.
void for_each_part(const Value& value, FunctionRef<bool(const Value& part)> visit);
// Nobody can change it: numbers, strings, None, and tuples of these.
bool is_immutable(const Value& value);
// Calls visit(Node&) for all nodes, those of blocks before their owner; it may destroy the node.
template <typename Visit>
void for_each_node(Block& block, const Visit& visit) {
  for (Node* node = block.first(); node;) {
    Node* next = node->next();
    for (Block* inner : node->blocks()) for_each_node(*inner, visit);
    visit(*node);
    node = next;
  }
}
// Those of inner blocks, too.
size_t count_nodes(const Block& block);
// Can a value of this type hold memory that a program may change (tensors, lists, objects)?
bool is_mutable(const Type& type);

}  // namespace torchlet::passes
