// What nodes do besides giving their outputs.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace torchlet::passes {

// Does the node write its i-th input in place?
bool writes_input(const Node& node, size_t i);
bool writes_inputs(const Node& node);

// May two runs of the same inputs give different outputs?
bool varies(const Node& node);

// May outputs share memory with inputs, or hold them: views, in-place operators, operators that
// give an input back ("aten::dropout" in eval mode), containers.
bool returns_alias(const Node& node);

// Same inputs, same outputs, nothing else happens; it may raise. Nodes with blocks are not pure.
// Whoever computes a node once and keeps the result, here or on a device, goes by this.
bool is_pure(const Node& node);

// Pure, and it cannot raise: may go when nobody uses its outputs. Also If and Loop whose nodes are
// all so, and loops that end.
bool is_removable(const Node& node);

// The items of a list that a node makes of them and nobody changes, whatever holds it; else null.
const std::vector<SsaValue*>* lasting_items(const SsaValue* list);

// May what runs between two nodes of one block, `from` first, change what is read through `tensor`?
// A pass that has `to` read it in the place of `from`, or the other way round, asks this first. It
// follows views to what made the memory, so it holds for graphs that are being changed; what comes
// out of containers, branches and calls may be anything. Bounded in time: where too much lies in
// between it may be changed.
bool may_change_between(const SsaValue* tensor, const Node& from, const Node& to);

// Does whoever enters the block never reach its end?
bool always_raises(const Block& block);

}  // namespace torchlet::passes
