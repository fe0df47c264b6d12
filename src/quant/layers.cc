#include "quant/layers.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "graph/module_path.h"
#include "graph/prim_kinds.h"
#include "ops/core/common.h"
#include "passes/analysis/alias.h"
#include "passes/analysis/constants.h"
#include "quant/stubs.h"

namespace torchlet::quant {
namespace {

using passes::constant_argument;
using passes::constant_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool is_one_of(const Node& node, std::initializer_list<std::string_view> names) {
  return node.op() && node.kind().name_space() == "aten" &&
         std::ranges::find(names, node.kind().name()) != names.end();
}

// The constant float32 tensor; an undefined one for None; nothing if it is something else.
std::optional<Tensor> constant_tensor(const Node& node, std::string_view name) {
  const Value* value = constant_argument(node, name);
  if (value && value->is_none()) return Tensor();
  if (!value || !value->is_tensor()) return std::nullopt;
  const Tensor tensor = value->to_tensor();
  if (tensor.dtype() != DType::kFloat32) return std::nullopt;
  return tensor;
}

std::optional<double> constant_number(const Node& node, std::string_view name) {
  const Value* value = constant_argument(node, name);
  if (!value || !value->is_scalar() || value->is_complex()) return std::nullopt;
  return value->to_double();
}

std::optional<std::vector<int64_t>> constant_ints(const Node& node, std::string_view name,
                                                  size_t count) {
  const Value* value = constant_argument(node, name);
  if (!value) return std::nullopt;
  std::vector<int64_t> ints;
  if (value->is_int()) {
    ints.push_back(value->to_int());
  } else if (value->is_list()) {
    for (const Value& item : value->to_list()) ints.push_back(item.to_int());
  } else {
    return std::nullopt;
  }
  if (ints.size() == 1) ints.resize(count, ints[0]);
  if (ints.size() != count) return std::nullopt;
  return ints;
}

// "same" as numbers, if both sides get the same.
std::optional<std::vector<int64_t>> padding_of(const Node& node, const Tensor& weight,
                                               const std::vector<int64_t>& dilation) {
  const Value* value = constant_argument(node, "padding");
  const auto count = static_cast<size_t>(weight.dim() - 2);
  if (!value || !value->is_string()) return constant_ints(node, "padding", count);
  std::vector<int64_t> padding(count, 0);
  if (value->to_string() == "valid") return padding;
  for (size_t d = 0; d < count; ++d) {
    const int64_t all = dilation[d] * (weight.size(static_cast<int64_t>(d) + 2) - 1);
    if (all % 2 != 0) return std::nullopt;
    padding[d] = all / 2;
  }
  return padding;
}

std::optional<WeightedLayer> convolution(const Node& node) {
  const auto weight = constant_tensor(node, "weight"), bias = constant_tensor(node, "bias");
  if (!weight || !weight->defined() || !bias || weight->numel() == 0) return std::nullopt;
  if (weight->dim() != 3 && weight->dim() != 4) return std::nullopt;
  if (node.op()->schema.find_argument("transposed")) {
    const Value* transposed = constant_argument(node, "transposed");
    if (!transposed || !transposed->is_bool() || transposed->to_bool()) return std::nullopt;
  }
  const auto spatial = static_cast<size_t>(weight->dim() - 2);
  const auto stride = constant_ints(node, "stride", spatial);
  const auto dilation = constant_ints(node, "dilation", spatial);
  const auto groups = constant_number(node, "groups");
  if (!stride || !dilation || !groups) return std::nullopt;
  const auto padding = padding_of(node, *weight, *dilation);
  if (!padding) return std::nullopt;
  return WeightedLayer{*weight, *bias, *stride, *padding, *dilation, static_cast<int64_t>(*groups)};
}

// linear(input, weight, bias), or addmm(bias, input, weight.t()).
std::optional<WeightedLayer> product(const Node& node) {
  WeightedLayer layer;
  if (node.kind().name() == "linear") {
    const auto weight = constant_tensor(node, "weight"), bias = constant_tensor(node, "bias");
    if (!weight || !bias) return std::nullopt;
    layer.weight = *weight;
    layer.bias = *bias;
  } else {
    const auto weight = constant_tensor(node, "mat2"), bias = constant_tensor(node, "self");
    if (!weight || !weight->defined() || weight->dim() != 2 || !bias || !bias->defined() ||
        bias->dim() != 1 || constant_number(node, "alpha") != 1.0 ||
        constant_number(node, "beta") != 1.0) {
      return std::nullopt;
    }
    layer.weight = ops::transpose(*weight, 0, 1).contiguous();
    layer.bias = *bias;
  }
  if (!layer.weight.defined() || layer.weight.dim() != 2 || layer.weight.numel() == 0) {
    return std::nullopt;
  }
  if (layer.bias.defined() && layer.bias.numel() != layer.weight.size(0)) return std::nullopt;
  return layer;
}

SsaValue* operand(const Node& node, std::string_view name) {
  const auto at = node.op()->schema.find_argument(name);
  return at && *at < node.inputs().size() ? node.input(*at) : nullptr;
}

bool is_variable_tensor(const SsaValue* value) {
  return value->type()->kind() == TypeKind::kTensor && !constant_of(value) &&
         value->node()->kind() != prim::kConstant;
}

std::optional<Layer> layer_of(Node& node) {
  Layer layer;
  layer.node = &node;
  if (is_one_of(node, {"conv1d", "conv2d", "_convolution"})) {
    if (!convolution(node)) return std::nullopt;
    layer.kind = LayerKind::kConv;
    layer.inputs = {operand(node, "input")};
  } else if (is_one_of(node, {"linear", "addmm"})) {
    if (!product(node)) return std::nullopt;
    layer.kind = LayerKind::kLinear;
    layer.inputs = {operand(node, node.kind().name() == "linear" ? "input" : "mat1")};
  } else if (is_one_of(node, {"add", "mul"}) && operand(node, "self") && operand(node, "other")) {
    const bool adds = node.kind().name() == "add";
    if (adds && constant_number(node, "alpha") != 1.0) return std::nullopt;
    layer.kind = adds ? LayerKind::kAdd : LayerKind::kMul;
    layer.inputs = {operand(node, "self"), operand(node, "other")};
  } else if (is_one_of(node, {"cat"})) {
    const Node& list = *node.input(0)->node();
    const Value* dim = constant_argument(node, "dim");
    if (list.kind() != prim::kListConstruct || list.output()->users().size() != 1 ||
        list.inputs().empty() || !dim || !dim->is_int()) {
      return std::nullopt;
    }
    layer.kind = LayerKind::kCat;
    layer.inputs = list.inputs();
  } else if (is_one_of(node, {"hardswish", "leaky_relu", "elu"})) {
    layer.kind = LayerKind::kActivation;
    layer.inputs = {operand(node, "self")};
  } else if (is_one_of(node, {"sigmoid", "hardsigmoid"})) {
    layer.kind = LayerKind::kUnit;
    layer.inputs = {operand(node, "self")};
  } else if (node.kind() == kQuantStub) {
    layer.kind = LayerKind::kQuantStub;
    layer.inputs = {node.input(0)};
  } else {
    return std::nullopt;
  }
  if (!std::ranges::all_of(layer.inputs, is_variable_tensor) || node.outputs().size() != 1) {
    return std::nullopt;
  }
  return layer;
}

// Lets what clamps the layer's output alone become part of it.
void take_activation(Layer& layer) {
  if (layer.kind == LayerKind::kActivation || layer.kind == LayerKind::kUnit ||
      layer.kind == LayerKind::kQuantStub) {
    return;
  }
  const auto& users = layer.node->output()->users();
  if (users.size() != 1 || users[0]->owner() != layer.node->owner()) return;
  const auto clamp = clamp_of(*users[0]);
  if (!clamp || users[0]->input(0) != layer.node->output()) return;
  layer.activation = users[0];
  layer.relu = clamp->low == 0;
}

void visit(Block& block, const passes::AliasAnalysis& aliases, std::vector<Layer>& layers) {
  for (Node* node : block) {
    for (Block* inner : node->blocks()) visit(*inner, aliases, layers);
    auto layer = layer_of(*node);
    if (!layer) continue;
    take_activation(*layer);
    const auto is_written = [&](const SsaValue* value) { return aliases.is_written(value); };
    if (std::ranges::any_of(layer->inputs, is_written) || is_written(layer->output())) continue;
    layer->path = inlined_module_path(*node);
    layer->op = node->kind().name();
    if (layer->op == "_convolution") {
      layer->op = convolution(*node)->weight.dim() == 4 ? "conv2d" : "conv1d";
    }
    if (layer->op == "addmm") layer->op = "linear";
    if (layer->kind == LayerKind::kQuantStub) layer->op = "quantize";
    layers.push_back(*std::move(layer));
  }
}

}  // namespace

std::vector<Layer> find_layers(Graph& graph) {
  std::vector<Layer> layers;
  visit(*graph.block(), passes::AliasAnalysis(graph), layers);
  if (!has_stubs(graph)) return layers;
  const auto inside = values_between_stubs(graph);
  for (Layer& layer : layers) {
    layer.outside = layer.kind != LayerKind::kQuantStub &&
                    !std::ranges::all_of(layer.inputs, [&](const SsaValue* input) {
                      return inside.contains(input);
                    });
  }
  return layers;
}

WeightedLayer weights_of(const Layer& layer) {
  auto weights = layer.kind == LayerKind::kConv ? convolution(*layer.node) : product(*layer.node);
  if (!weights) fail(ErrorCode::kInternal, "'" + layer.path + "' has no weights");
  return *std::move(weights);
}

std::optional<Clamp> clamp_of(const Node& node) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (is_one_of(node, {"relu"})) return Clamp{0, kNone};
  if (is_one_of(node, {"relu6"})) return Clamp{0, 6};
  const bool is_hardtanh = is_one_of(node, {"hardtanh"});
  if (!is_hardtanh && !is_one_of(node, {"clamp", "clamp_min", "clamp_max"})) return std::nullopt;
  const auto end = [&](const char* name, double absent) -> std::optional<double> {
    if (!node.op()->schema.find_argument(name)) return absent;
    const Value* value = constant_argument(node, name);
    if (value && value->is_none()) return absent;
    return constant_number(node, name);
  };
  const auto low = end(is_hardtanh ? "min_val" : "min", -kNone);
  const auto high = end(is_hardtanh ? "max_val" : "max", kNone);
  if (!low || !high || *low > 0 || *high < 0) return std::nullopt;  // 0 must stay 0
  return Clamp{*low, *high};
}

bool follows_quantization(const Node& node) {
  if (is_one_of(node, {"mean"})) {
    const Value* dtype = constant_argument(node, "dtype");
    return dtype && dtype->is_none() && node.op()->schema.find_argument("dim");
  }
  if (is_one_of(node, {"hardtanh", "clamp", "clamp_min", "clamp_max"})) {
    return clamp_of(node).has_value();
  }
  return is_one_of(node, {"relu", "relu6", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d",
                          "upsample_nearest2d", "upsample_bilinear2d", "view", "reshape", "flatten",
                          "permute", "transpose", "contiguous", "squeeze", "unsqueeze", "slice",
                          "select", "chunk", "split"});
}

Useful useful_part(const SsaValue& value) {
  if (value.users().size() == 1) {
    const Node& user = *value.users()[0];
    // Where these are flat to within half a step of 1/256.
    if (is_one_of(user, {"hardsigmoid"})) return {-3, 3};
    if (is_one_of(user, {"sigmoid"})) return {-6.3f, 6.3f};
    if (is_one_of(user, {"hardswish"})) return {-3, kInfinity};
  }
  return {-kInfinity, kInfinity};
}

}  // namespace torchlet::quant
