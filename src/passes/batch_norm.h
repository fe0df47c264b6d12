#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <torchlet/tensor.h>
#include "graph/graph.h"
#include "passes/change_log.h"

namespace torchlet::passes {

// y = x * scale + shift, a number for each channel, computed in double.
struct ChannelScaling {
  std::vector<double> scale, shift;
};
// What a batch norm of so many channels does, if all of its arguments but the input are constants
// of this dtype and it takes its statistics from them.
std::optional<ChannelScaling> constant_batch_norm(const Node& norm, int64_t channels, DType dtype);

// Merges a batch norm with constant statistics into the layer that alone feeds it, or into those
// whose channels it gets joined (Jacob et al., "Quantization and Training of Neural Networks for
// Efficient Integer-Arithmetic-Only Inference", 2018, section 3.2): w' = w * s, b' = (b - mean) * s
// + beta with s = gamma / sqrt(var + eps), computed in double. Results differ by rounding alone.
// Convolutions of any dimension, transposed ones too, whose weights are constants, and linear
// layers of what is known to be a matrix (a batch norm of more dimensions scales the second, not
// the last).
bool fold_batch_norms(Graph& graph, ChangeLog* log = nullptr);

}  // namespace torchlet::passes
