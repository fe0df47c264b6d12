// Running single nodes before a run.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace torchlet::passes {

// What computing the constants of one method may take beside what the sizes of its constants allow.
// A run may never get to what is computed here, so what needs more is left to the run.
struct FoldBudget {
  double seconds = 0.5;
  size_t growth = size_t{64} << 20;  // bytes of constants larger than what they are computed from
};

// False if the node has no operator or one that raises, or if it takes more than the budget has.
// Writes what the operator writes.
bool evaluate(const Node& node, const std::vector<Value>& inputs, FoldBudget& budget,
              std::vector<Value>& results);

// May what was computed from `given` be kept in its place? If so it counts.
bool may_grow(const std::vector<Value>& given, const std::vector<Value>& made, FoldBudget& budget);

// Users of the output read a constant instead.
void replace_by_constant(SsaValue& output, const Value& value);

}  // namespace torchlet::passes
