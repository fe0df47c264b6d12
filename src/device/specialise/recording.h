// What the tensors of a segment are in one run of the reference implementations: for operators that
// do not run on meta tensors.
#pragma once

#include <torchlet/value.h>

#include <span>
#include <unordered_map>
#include <vector>

#include "device/specialise/description.h"
#include "graph/graph.h"

namespace torchlet::device {

// Of each tensor value its description; of a list of tensors one for each.
using Recording = std::unordered_map<const SsaValue*, std::vector<TensorDescription>>;

// Runs the block of `segment`. Every value is freed at its last use. Throws what operators throw.
Recording record(const Node& segment, std::span<const Value> inputs);

}  // namespace torchlet::device
