#pragma once

#include <functional>

#include "graph/function.h"
#include "graph/graph.h"

namespace torchlet::passes {

// Replaces calls of known functions by their bodies, but not the calls in these: one level, so that
// branches which are never taken can go before what they call comes. The nodes remember the call
// (Node::inlined_call). Left as they are: recursive calls, calls whose number of arguments is
// wrong, and what would make the graph larger than `max_nodes` or nest its blocks deeper than
// kMaxBlockDepth. `function` is the one whose graph this is.
//
// `body_of` may give a function another body than its own graph (null: its own), which lives as
// long as the inlining.
using BodyOf = std::function<const Graph*(Function& function)>;
inline constexpr size_t kMaxInlinedNodes = 20'000, kMaxBlockDepth = 500;
bool inline_calls(Graph& graph, const Function& function, size_t max_nodes = kMaxInlinedNodes,
                  const BodyOf& body_of = {});

}  // namespace torchlet::passes
