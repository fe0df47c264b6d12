// Which node of one program computes what a node of another does.
#pragma once

#include <span>
#include <vector>

#include "prepare/compare/observe.h"

namespace torchlet::prepare {

// Nodes that belong together: one of one side, and those of the other that it may stand for, in
// order. Where b computes at once what a computes in steps, or the other way round, the steps that
// follow a node and have no counterpart of their own may be part of it: a convolution into which a
// batch norm was folded gives what the batch norm gave.
struct Match {
  std::vector<size_t> a, b;  // indices; one of the two has one
};

// In the order of a; nodes may stay alone. The first nodes of a match have equal sizes, and
// operators of one kind, the same module path or the same line. Of all such lists it is one whose
// matches have most in common (Needleman and Wunsch's alignment), but for nodes that then turn out
// to read something else: they are matched by what they read. If both sides are very long, only
// nodes that have everything in common are matched.
std::vector<Match> align(std::span<const ObservedNode> a, std::span<const ObservedNode> b);

}  // namespace torchlet::prepare
