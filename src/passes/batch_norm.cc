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

bool fold(Node& norm, ChangeLog* log) {
  const Value* training = constant_argument(norm, "training");
  const Value* eps = constant_argument(norm, "eps");
  if (!training || !training->is_bool() || training->to_bool() || !eps || !eps->is_float()) {
    return false;
  }
  const auto layer = sole_scalable_layer(norm.input(0), norm);
  if (!layer || (layer->is_linear && !is_matrix(norm.input(0)))) return false;

  std::vector<double> parts[4];  // gamma, beta, mean, variance
  static constexpr const char* kParts[] = {"weight", "bias", "running_mean", "running_var"};
  for (size_t i = 0; i < 4; ++i) {
    const Value* constant = constant_argument(norm, kParts[i]);
    if (i >= 2 && constant && constant->is_none()) return false;
    auto values = channel_values(constant, layer->channels, i == 0 ? 1 : 0, layer->weight.dtype());
    if (!values) return false;
    parts[i] = *std::move(values);
  }
  std::vector<double> scale(layer->bias.size()), bias = layer->bias;
  for (size_t c = 0; c < scale.size(); ++c) {
    scale[c] = parts[0][c] / std::sqrt(parts[3][c] + eps->to_double());
    bias[c] = (bias[c] - parts[2][c]) * scale[c] + parts[1][c];
  }
  rescale(*layer, scale, bias);
  if (log) log->note(place_of(norm) + " folded into " + place_of(*layer->node));
  norm.output()->replace_all_uses_with(layer->node->output());
  norm.destroy();
  return true;
}

}  // namespace

bool fold_batch_norms(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() == kBatchNorm && node.op()) changed = fold(node, log) || changed;
  });
  return changed;
}

}  // namespace torchlet::passes
