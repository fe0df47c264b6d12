#include "passes/batch_norm.h"

#include <cmath>
#include <optional>
#include <vector>

#include "passes/analysis/constants.h"
#include "passes/analysis/layers.h"
#include "passes/ranks.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

const Symbol kBatchNorm("aten::batch_norm"), kLinear("aten::linear");

// A layer whose output channels a batch norm can scale.
struct Layer {
  Node* node = nullptr;
  Tensor weight, bias;      // bias may be undefined
  int64_t channel_dim = 0;  // of the weight
  int64_t groups = 1;       // the channels of a transposed convolution are counted in each group
};

std::optional<Tensor> constant_tensor(const Value* constant) {
  if (!constant) return std::nullopt;
  if (constant->is_none()) return Tensor();
  if (!constant->is_tensor()) return std::nullopt;
  return constant->to_tensor();
}

// Is it a linear layer whose output is a matrix?
bool is_linear_of_matrix(const Node& node) {
  if (node.kind() != kLinear) return false;
  const auto ranks = known_ranks(*node.graph());
  const auto rank = ranks.find(node.output());
  return rank != ranks.end() && rank->second == 2;
}

// The layer that makes `value` for nobody else.
std::optional<Layer> layer_of(const SsaValue* value) {
  Node* node = value->node();
  if (value->users().size() != 1 || !node->op()) return std::nullopt;
  std::optional<bool> transposed = is_transposed_convolution(*node);
  if (!transposed && is_linear_of_matrix(*node)) transposed = false;
  if (!transposed) return std::nullopt;
  Layer layer;
  layer.node = node;
  if (*transposed) {
    const Value* groups = constant_argument(*node, "groups");
    if (!groups || !groups->is_int()) return std::nullopt;
    layer.channel_dim = 1;
    layer.groups = groups->to_int();
    if (layer.groups < 1) return std::nullopt;
  }
  const auto weight = constant_tensor(constant_argument(*node, "weight"));
  const auto bias = constant_tensor(constant_argument(*node, "bias"));
  if (!weight || !weight->defined() || !bias || node->inputs().size() < 3) return std::nullopt;
  layer.weight = *weight;
  layer.bias = *bias;
  return layer;
}

// The values as double; `count` times `otherwise` if the tensor is undefined. Nothing if it is of
// another length, or not of `dtype`.
std::optional<std::vector<double>> doubles(const Tensor& tensor, int64_t count, double otherwise,
                                           DType dtype) {
  if (!tensor.defined()) return std::vector<double>(static_cast<size_t>(count), otherwise);
  if (tensor.dtype() != dtype || tensor.numel() != count || tensor.dim() != 1) return std::nullopt;
  const Tensor wide = tensor.to(DType::kFloat64).contiguous();
  return std::vector<double>(wide.data_ptr<double>(), wide.data_ptr<double>() + count);
}

// weight * scale along the output channels, in double.
template <typename T>
Tensor scaled_weight(const Layer& layer, const std::vector<double>& scale) {
  const Tensor scaled = layer.weight.contiguous().clone();
  T* data = scaled.data_ptr<T>();
  const int64_t outer = layer.channel_dim == 0 ? 1 : scaled.size(0);
  const int64_t channels = scaled.size(layer.channel_dim);
  const int64_t inner = scaled.numel() / (outer * channels);
  const int64_t outer_per_group = outer / layer.groups;
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t group = layer.channel_dim == 0 ? 0 : o / outer_per_group;
    for (int64_t c = 0; c < channels; ++c) {
      const double factor = scale[static_cast<size_t>(group * channels + c)];
      for (int64_t i = 0; i < inner; ++i, ++data) *data = static_cast<T>(*data * factor);
    }
  }
  return scaled;
}

Tensor vector_of(const std::vector<double>& values, DType dtype) {
  const auto size = static_cast<int64_t>(values.size());
  const Tensor wide = zeros(std::vector<int64_t>{size}, DType::kFloat64);
  std::copy(values.begin(), values.end(), wide.data_ptr<double>());
  return wide.to(dtype);
}

bool fold(Node& norm, ChangeLog* log) {
  const auto layer = layer_of(norm.input(0));
  const Value* training = constant_argument(norm, "training");
  const Value* eps = constant_argument(norm, "eps");
  if (!layer || layer->node->owner() != norm.owner() || !training || !training->is_bool() ||
      training->to_bool() || !eps || !eps->is_float()) {
    return false;
  }
  const DType dtype = layer->weight.dtype();
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return false;
  const bool per_group = layer->channel_dim == 1;
  int64_t channels;
  if (__builtin_mul_overflow(layer->weight.size(layer->channel_dim), layer->groups, &channels) ||
      channels == 0 || layer->weight.numel() == 0) {
    return false;
  }
  if (per_group && layer->weight.size(0) % layer->groups != 0) return false;

  std::vector<double> parts[4];  // gamma, beta, mean, variance
  static constexpr const char* kParts[] = {"weight", "bias", "running_mean", "running_var"};
  for (size_t i = 0; i < 4; ++i) {
    const auto tensor = constant_tensor(constant_argument(norm, kParts[i]));
    if (!tensor || (i >= 2 && !tensor->defined())) return false;
    auto values = doubles(*tensor, channels, i == 0 ? 1 : 0, dtype);
    if (!values) return false;
    parts[i] = *std::move(values);
  }
  auto bias = doubles(layer->bias, channels, 0, dtype);
  if (!bias) return false;
  std::vector<double> scale(static_cast<size_t>(channels));
  for (size_t c = 0; c < scale.size(); ++c) {
    scale[c] = parts[0][c] / std::sqrt(parts[3][c] + eps->to_double());
    (*bias)[c] = ((*bias)[c] - parts[2][c]) * scale[c] + parts[1][c];
  }

  Node& conv = *layer->node;
  const Schema& schema = conv.op()->schema;
  const Tensor weight = dtype == DType::kFloat32 ? scaled_weight<float>(*layer, scale)
                                                 : scaled_weight<double>(*layer, scale);
  conv.replace_input(*schema.find_argument("weight"),
                     insert_constant(&conv, Value(weight), types::tensor()));
  conv.replace_input(*schema.find_argument("bias"),
                     insert_constant(&conv, Value(vector_of(*bias, dtype)), types::tensor()));
  if (log) log->note(place_of(norm) + " folded into " + place_of(conv));
  norm.output()->replace_all_uses_with(conv.output());
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
