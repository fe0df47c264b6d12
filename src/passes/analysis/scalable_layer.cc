#include "passes/analysis/scalable_layer.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/content_hash.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/layers.h"
#include "passes/analysis/rewrite.h"
#include "tensor/derived_storage.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

const Symbol kLinear("aten::linear"), kCat("aten::cat");

// Some at a time, of which compilers make vectors: this reads all weights of a network.
template <typename T>
void scale_row(const T* from, int64_t count, double factor, T* to) {
  std::array<T, 16> some;
  constexpr auto kAtOnce = static_cast<int64_t>(some.size());
  for (; count >= kAtOnce; count -= kAtOnce, from += kAtOnce) {
    for (size_t i = 0; i < some.size(); ++i) some[i] = static_cast<T>(from[i] * factor);
    to = std::copy(some.begin(), some.end(), to);
  }
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i] * factor);
}

// Writes the rows of a weight from `first` on, times scale along the output channels, in double.
// Those are the columns of a transposed convolution, which has `group_rows` in a group.
template <typename T>
void scale_rows(const Tensor& rows, int64_t first, bool transposed, int64_t group_rows,
                const std::vector<double>& scale, std::byte* to) {
  const Tensor dense = rows.contiguous();
  const T* from = dense.data_ptr<T>();
  T* scaled = reinterpret_cast<T*>(to);
  const int64_t columns = transposed ? dense.size(1) : 1;
  const int64_t inner = dense.numel() / (dense.size(0) * columns);
  for (int64_t row = first; row < first + dense.size(0); ++row) {
    const int64_t channel = transposed ? row / group_rows * columns : row;
    for (int64_t c = 0; c < columns; ++c) {
      scale_row(from, inner, scale[static_cast<size_t>(channel + c)], scaled);
      from += inner;
      scaled += inner;
    }
  }
}

// A plan packs the weight and has no other use for it, so its memory is made when it is needed.
template <typename T>
Tensor scaled_weight(const ScalableLayer& layer, const std::vector<double>& scale, uint64_t id) {
  return derived_tensor(
      layer.weight,
      [transposed = layer.channel_dim == 1, group_rows = layer.weight.size(0) / layer.groups,
       scale](const Tensor& rows, int64_t first, std::byte* to) {
        scale_rows<T>(rows, first, transposed, group_rows, scale, to);
      },
      id);
}

Tensor vector_of(const std::vector<double>& values, DType dtype) {
  const auto size = static_cast<int64_t>(values.size());
  const Tensor wide = zeros(std::vector<int64_t>{size}, DType::kFloat64);
  std::copy(values.begin(), values.end(), wide.data_ptr<double>());
  return wide.to(dtype);
}

void replace_constant(Node& layer, const char* argument, const Tensor& tensor) {
  layer.replace_input(*layer.op()->schema.find_argument(argument),
                      insert_constant(&layer, Value(tensor), types::tensor()));
}

}  // namespace

std::optional<ScalableLayer> scalable_layer(Node& node) {
  if (!node.op()) return std::nullopt;
  ScalableLayer layer;
  layer.node = &node;
  layer.is_linear = node.kind() == kLinear;
  const auto transposed =
      layer.is_linear ? std::optional<bool>(false) : is_transposed_convolution(node);
  if (!transposed) return std::nullopt;
  if (*transposed) {
    const Value* groups = constant_argument(node, "groups");
    if (!groups || !groups->is_int()) return std::nullopt;
    layer.channel_dim = 1;
    layer.groups = groups->to_int();
    if (layer.groups < 1) return std::nullopt;
  }
  const Value* weight = constant_argument(node, "weight");
  const Value* bias = constant_argument(node, "bias");
  if (!weight || !weight->is_tensor() || !bias || node.inputs().size() < 3) return std::nullopt;
  layer.weight = weight->to_tensor();
  const Tensor& w = layer.weight;
  if (w.dtype() != DType::kFloat32 && w.dtype() != DType::kFloat64) return std::nullopt;
  if (w.dim() < 2 || w.numel() == 0 || w.size(0) % layer.groups != 0 ||
      __builtin_mul_overflow(w.size(layer.channel_dim), layer.groups, &layer.channels)) {
    return std::nullopt;
  }
  auto values = channel_values(bias, layer.channels, 0, w.dtype());
  if (!values) return std::nullopt;
  layer.bias = *std::move(values);
  layer.has_bias = !bias->is_none();
  return layer;
}

std::optional<ScalableLayer> sole_scalable_layer(const SsaValue* value, const Node& user) {
  Node* maker = sole_maker(value, user);
  return maker ? scalable_layer(*maker) : std::nullopt;
}

JoinedLayers sole_joined_layers(const SsaValue* value, const Node& user) {
  JoinedLayers joined;
  const Node* cat = sole_maker(value, user);
  if (!cat || cat->kind() != kCat || !cat->op()) {
    if (auto layer = sole_scalable_layer(value, user)) joined.layers.push_back(*std::move(layer));
    return joined;
  }
  const Value* dim = constant_argument(*cat, "dim");
  Node* list = sole_maker(cat->input(0), *cat);
  if (!dim || !dim->is_int() || dim->to_int() != 1 || !list ||
      list->kind() != prim::kListConstruct) {
    return {};
  }
  joined.list = list;
  for (const SsaValue* part : list->inputs()) {
    auto layer = sole_scalable_layer(part, *list);
    if (!layer ||
        (!joined.layers.empty() && layer->weight.dtype() != joined.layers[0].weight.dtype())) {
      return {};
    }
    joined.layers.push_back(*std::move(layer));
  }
  return joined;
}

std::optional<std::vector<double>> channel_values(const Value* constant, int64_t count,
                                                  double otherwise, DType dtype) {
  if (!constant) return std::nullopt;
  if (constant->is_none()) return std::vector<double>(static_cast<size_t>(count), otherwise);
  if (!constant->is_tensor()) return std::nullopt;
  const Tensor tensor = constant->to_tensor();
  if (tensor.dtype() != dtype || tensor.numel() != count || tensor.dim() != 1) return std::nullopt;
  const Tensor wide = tensor.to(DType::kFloat64).contiguous();
  return std::vector<double>(wide.data_ptr<double>(), wide.data_ptr<double>() + count);
}

Tensor ScaledWeights::of(const ScalableLayer& layer, const std::vector<double>& scale) {
  ContentHash id;
  id.add(static_cast<uint64_t>(layer.channel_dim));
  id.add(static_cast<uint64_t>(layer.groups));
  id.add(std::as_bytes(std::span(scale)));
  // What is made keeps the storage, so that its address stays its own.
  const TensorImpl& weight = *layer.weight.impl();
  std::vector<uint64_t> key{id.value(), reinterpret_cast<uintptr_t>(weight.storage.get()),
                            static_cast<uint64_t>(weight.storage_offset)};
  for (const int64_t size : weight.sizes) key.push_back(static_cast<uint64_t>(size));
  for (const int64_t stride : weight.strides) key.push_back(static_cast<uint64_t>(stride));
  const auto [found, is_new] = made_.try_emplace(std::move(key));
  if (is_new) {
    found->second = weight.dtype == DType::kFloat32
                        ? scaled_weight<float>(layer, scale, id.value())
                        : scaled_weight<double>(layer, scale, id.value());
  }
  return found->second;
}

void rescale(const ScalableLayer& layer, const std::vector<double>& scale,
             const std::vector<double>& bias, ScaledWeights& weights) {
  replace_weights(layer, weights.of(layer, scale), bias);
}

void replace_weights(const ScalableLayer& layer, const Tensor& weight,
                     const std::vector<double>& bias) {
  const DType dtype = layer.weight.dtype();
  replace_constant(*layer.node, "weight", weight);
  if (layer.has_bias || std::ranges::any_of(bias, [](double value) { return value != 0; })) {
    replace_constant(*layer.node, "bias", vector_of(bias, dtype));
  }
}

}  // namespace torchlet::passes
