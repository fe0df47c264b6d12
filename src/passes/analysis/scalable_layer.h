// Layers whose output channels can be scaled and shifted by changing their constants.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <torchlet/tensor.h>
#include "graph/graph.h"

namespace torchlet::passes {

// A convolution of any dimension, a transposed one too, or a linear layer, of constants in float32
// or float64.
struct ScalableLayer {
  Node* node = nullptr;
  Tensor weight;
  std::vector<double> bias;  // [channels], zeros if there is none
  bool has_bias = false;
  bool is_linear = false;   // its channels are the last dimension of the output, not the second
  int64_t channel_dim = 0;  // of the weight
  int64_t groups = 1;       // the channels of a transposed convolution are counted in each group
  int64_t channels = 0;     // of the output, at least 1
};

// Nothing if the node is another one, or if something about it is not known.
std::optional<ScalableLayer> scalable_layer(Node& node);
// The layer that makes `value` for nobody else, in the block of `user`.
std::optional<ScalableLayer> sole_scalable_layer(const SsaValue* value, const Node& user);

// Layers of one dtype whose channels are joined (aten::cat along dimension 1), or one by itself.
struct JoinedLayers {
  Node* list = nullptr;  // that is joined: the results, in order; null of one by itself
  std::vector<ScalableLayer> layers;
};
// Those that make `value` for nobody else, in the block of `user`; none if others do.
JoinedLayers sole_joined_layers(const SsaValue* value, const Node& user);

// [count] values of a constant of the layer's dtype, as double; `otherwise` if it is None. Nothing
// if it is something else.
std::optional<std::vector<double>> channel_values(const Value* constant, int64_t count,
                                                  double otherwise, DType dtype);

// New constants for the layer, since others may share those that it has; a bias of zeros is left
// out where there was none.
void replace_weights(const ScalableLayer& layer, const Tensor& weight,
                     const std::vector<double>& bias);

// Scaled weights by what they were made of, so that layers which shared theirs still do: a traced
// program has a layer as often as it ran.
class ScaledWeights {
 public:
  // weight * scale along the output channels, computed in double.
  Tensor of(const ScalableLayer& layer, const std::vector<double>& scale);

 private:
  std::map<std::vector<uint64_t>, Tensor> made_;
};
// New constants with scaled weights.
void rescale(const ScalableLayer& layer, const std::vector<double>& scale,
             const std::vector<double>& bias, ScaledWeights& weights);

}  // namespace torchlet::passes
