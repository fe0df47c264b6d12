#include "passes/batch_norm.h"

#include <cmath>
#include <optional>
#include <vector>

#include "passes/analysis/constants.h"
#include "passes/analysis/scalable_layer.h"
#include "passes/ranks.h"

namespace torchlet::passes {
namespace {

const Symbol kBatchNorm("aten::batch_norm");

bool is_matrix(const SsaValue* value) {
  const auto ranks = known_ranks(*value->node()->graph());
  const auto rank = ranks.find(value);
  return rank != ranks.end() && rank->second == 2;
}

bool fold(Node& norm, ScaledWeights& weights, ChangeLog* log) {
  const std::vector<ScalableLayer> layers = sole_joined_layers(norm.input(0), norm).layers;
  int64_t channels = 0;
  for (const ScalableLayer& layer : layers) {
    if (layer.is_linear && !is_matrix(layer.node->output())) return false;
    channels += layer.channels;
  }
  if (layers.empty()) return false;
  const auto scaling = constant_batch_norm(norm, channels, layers[0].weight.dtype());
  if (!scaling) return false;
  auto scale = scaling->scale.begin(), shift = scaling->shift.begin();
  for (const ScalableLayer& layer : layers) {
    const std::vector<double> own(scale, scale + layer.channels);
    std::vector<double> bias = layer.bias;
    for (size_t c = 0; c < bias.size(); ++c) bias[c] = bias[c] * own[c] + *shift++;
    scale += layer.channels;
    rescale(layer, own, bias, weights);
    if (log) log->note(place_of(norm) + " folded into " + place_of(*layer.node));
  }
  norm.output()->replace_all_uses_with(norm.input(0));
  norm.destroy();
  return true;
}

}  // namespace

std::optional<ChannelScaling> constant_batch_norm(const Node& norm, int64_t channels, DType dtype) {
  const Value* training = constant_argument(norm, "training");
  const Value* eps = constant_argument(norm, "eps");
  if (!training || !training->is_bool() || training->to_bool() || !eps || !eps->is_float()) {
    return std::nullopt;
  }
  std::vector<double> parts[4];  // gamma, beta, mean, variance
  static constexpr const char* kParts[] = {"weight", "bias", "running_mean", "running_var"};
  for (size_t i = 0; i < 4; ++i) {
    const Value* constant = constant_argument(norm, kParts[i]);
    if (i >= 2 && constant && constant->is_none()) return std::nullopt;
    auto values = channel_values(constant, channels, i == 0 ? 1 : 0, dtype);
    if (!values) return std::nullopt;
    parts[i] = *std::move(values);
  }
  ChannelScaling scaling = {std::move(parts[0]), std::move(parts[1])};
  for (size_t c = 0; c < scaling.scale.size(); ++c) {
    scaling.scale[c] /= std::sqrt(parts[3][c] + eps->to_double());
    scaling.shift[c] -= parts[2][c] * scaling.scale[c];
  }
  return scaling;
}

bool fold_batch_norms(Graph& graph, ChangeLog* log) {
  bool changed = false;
  ScaledWeights weights;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() == kBatchNorm && node.op()) changed = fold(node, weights, log) || changed;
  });
  return changed;
}

}  // namespace torchlet::passes
