#include "quant/dynamic.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "graph/module_path.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/dead_code.h"
#include "quant/choices.h"
#include "quant/layers.h"
#include "quant/weights.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::quant {
namespace {

const Symbol kLstm("aten::lstm"), kGru("aten::gru");
constexpr int64_t kSmallestHalved = 64;  // elements; smaller ones are not worth a conversion

const Operator& operator_of(const char* name, const char* overload) {
  const Operator* op = find_operator(name, overload);
  if (!op) fail(ErrorCode::kInternal, "there is no operator %s.%s", name, overload);
  return *op;
}

Node* node_like(const Node& model, const char* name, const char* overload,
                std::vector<SsaValue*> inputs) {
  Node* node = model.graph()->create(Symbol(name), std::move(inputs));
  node->set_op(&operator_of(name, overload));
  node->set_range(model.range());
  node->set_inlined_call(model.inlined_call());
  return node;
}

void replace(Node& node, Node* with) {
  for (SsaValue* output : node.outputs()) {
    output->replace_all_uses_with(with->add_output(output->type(), output->name()));
  }
  with->insert_before(&node);
  node.destroy();
}

// ---- linear layers ----

const Node* make_dynamic(const Layer& layer, const QuantizationOptions& options) {
  Node& last = *layer.last();
  const Value packed =
      pack(weights_of(layer), LayerKind::kLinear, WeightOptions{options.per_channel, 1, {}});
  // Not layer.inputs: another layer's node may have changed since these were found.
  const bool is_sum = layer.node->kind().name() == "addmm";
  SsaValue* input =
      layer.node->input(*layer.node->op()->schema.find_argument(is_sum ? "mat1" : "input"));
  const bool is_relu = layer.activation && layer.activation->kind().name() == "relu";
  Node* node = node_like(*layer.node,
                         is_relu ? "quantized::linear_relu_dynamic" : "quantized::linear_dynamic",
                         "", {input});
  Node& replaced = is_relu ? last : *layer.node;
  node->add_input(passes::insert_constant(&replaced, packed, type_of(packed)));
  node->add_input(passes::insert_constant(&replaced, options.reduce_range, types::boolean()));
  replace(replaced, node);
  if (is_relu) layer.node->destroy();
  return node;
}

// ---- recurrent layers ----

// The float32 tensors of the list that is the argument `params`.
std::optional<std::vector<Tensor>> parameters_of(const Node& node) {
  const Node& list = *node.input(*node.op()->schema.find_argument("params"))->node();
  if (list.kind() != prim::kListConstruct) return std::nullopt;
  std::vector<Value> values;
  for (const SsaValue* item : list.inputs()) {
    const Value* value = passes::constant_of(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  std::vector<Tensor> tensors;
  for (const Value& value : values) {
    if (!value.is_tensor() || value.to_tensor().dtype() != DType::kFloat32) return std::nullopt;
    tensors.push_back(value.to_tensor());
  }
  return tensors;
}

// How many tensors each direction of each layer has; nothing if it is not 2 or 4 (an LSTM with a
// projection has one more).
std::optional<size_t> tensors_per_cell(const Node& node, size_t count) {
  const auto value = [&](const char* name) { return passes::constant_argument(node, name); };
  const Value *biases = value("has_biases"), *layers = value("num_layers"),
              *both = value("bidirectional");
  if (!biases || !layers || !both || layers->to_int() < 1) return std::nullopt;
  const size_t cells = static_cast<size_t>(layers->to_int()) * (both->to_bool() ? 2 : 1);
  const size_t each = biases->to_bool() ? 4 : 2;
  return count == cells * each ? std::optional(each) : std::nullopt;
}

Value cell_of(std::span<const Tensor> tensors, const QuantizationOptions& options) {
  const auto bias = [&](size_t i) {
    if (tensors.size() == 4) return tensors[i];
    return zeros(std::array<int64_t, 1>{tensors[0].size(0)}, DType::kFloat32);
  };
  std::vector<Value> arguments;
  for (size_t i = 0; i < 2; ++i) {
    WeightedLayer layer;
    layer.weight = tensors[i];
    layer.bias = bias(i + 2);
    arguments.push_back(pack(layer, LayerKind::kLinear, {options.per_channel, 1, {}}));
  }
  arguments.emplace_back(bias(2));
  arguments.emplace_back(bias(3));
  arguments.emplace_back(options.reduce_range);
  Value cell;
  operator_of("quantized::make_quantized_cell_params_dynamic", "")
      .call(arguments, std::span(&cell, 1));
  return cell;
}

// Null if the layer is none that can be.
const Node* make_dynamic(Node& node, const QuantizationOptions& options, LayerReport& report) {
  const auto tensors = parameters_of(node);
  const auto each = tensors ? tensors_per_cell(node, tensors->size()) : std::nullopt;
  if (!each) return nullptr;
  const bool is_lstm = node.kind() == kLstm;
  std::vector<SsaValue*> cells;
  for (size_t i = 0; i < tensors->size(); i += *each) {
    const std::span<const Tensor> parts(tensors->data() + i, *each);
    const Value cell = cell_of(parts, options);
    cells.push_back(passes::insert_constant(&node, cell, type_of(cell)));
    for (size_t k = 0; k < 2; ++k) {
      report.weight_bytes += static_cast<size_t>(parts[k].numel()) * sizeof(float);
      report.quantized_weight_bytes += static_cast<size_t>(parts[k].numel());
    }
  }
  Node* list = node.graph()->create(prim::kListConstruct, cells);
  list->add_output(types::list(cells[0]->type()));
  list->set_range(node.range());
  list->insert_before(&node);
  std::vector<SsaValue*> inputs = node.inputs();
  const Schema& schema = node.op()->schema;
  inputs[*schema.find_argument("params")] = list->output();
  inputs[*schema.find_argument("has_biases")] =
      passes::insert_constant(&node, true, types::boolean());
  if (is_lstm) {
    inputs.push_back(
        passes::insert_constant(&node, static_cast<int64_t>(DType::kQInt8), types::integer()));
    inputs.push_back(passes::insert_constant(&node, true, types::boolean()));
  }
  Node* quantized = node_like(node, is_lstm ? "aten::quantized_lstm" : "aten::quantized_gru",
                              schema.overload.c_str(), std::move(inputs));
  replace(node, quantized);
  return quantized;
}

bool is_recurrent(const Node& node) {
  return node.op() && (node.kind() == kLstm || node.kind() == kGru);
}

std::vector<Layer> linear_layers(Graph& graph) {
  std::vector<Layer> layers = find_layers(graph);
  std::erase_if(layers, [](const Layer& layer) { return layer.kind != LayerKind::kLinear; });
  return layers;
}

}  // namespace

std::vector<const Node*> dynamic_layers(Graph& graph) {
  std::vector<const Node*> nodes;
  for (const Layer& layer : linear_layers(graph)) nodes.push_back(layer.node);
  passes::for_each_node(*graph.block(), [&](Node& node) {
    if (is_recurrent(node)) nodes.push_back(&node);
  });
  return nodes;
}

std::vector<LayerReport> quantize_dynamically(Graph& graph, const QuantizationOptions& options,
                                              std::vector<const Node*>* nodes) {
  std::vector<LayerReport> reports;
  std::vector<const Node*> made;
  const std::vector<Layer> layers = linear_layers(graph);
  const std::vector<std::string> reasons = objections(layers, nullptr, options);
  for (size_t i = 0; i < layers.size(); ++i) {
    LayerReport& report = reports.emplace_back();
    report.path = layers[i].path;
    report.op = layers[i].op;
    report.reason = reasons[i];
    report.quantized = reasons[i].empty();
    const auto weights = static_cast<size_t>(weights_of(layers[i]).weight.numel());
    report.weight_bytes = weights * sizeof(float);
    report.quantized_weight_bytes = report.quantized ? weights : report.weight_bytes;
    made.push_back(report.quantized ? make_dynamic(layers[i], options) : layers[i].node);
  }
  passes::for_each_node(*graph.block(), [&](Node& node) {
    if (!is_recurrent(node)) return;
    LayerReport report;
    report.path = inlined_module_path(node);
    report.op = node.kind().name();
    report.reason = objection_by_name(report.path, report.op, options);
    const Node* quantized = report.reason.empty() ? make_dynamic(node, options, report) : nullptr;
    report.quantized = quantized != nullptr;
    if (!quantized && report.reason.empty()) {
      report.reason = "its weights are not constants of a plain layer";
    }
    made.push_back(quantized ? quantized : &node);
    reports.push_back(std::move(report));
  });
  passes::remove_dead_code(graph);
  if (nodes) *nodes = std::move(made);
  return reports;
}

std::vector<LayerReport> halve_weights(Graph& graph, const QuantizationOptions& options) {
  std::vector<LayerReport> reports;
  passes::for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() != prim::kConstant || !node.value_attribute("value").is_tensor()) return;
    const Tensor tensor = node.value_attribute("value").to_tensor();
    if (tensor.dtype() != DType::kFloat32 || tensor.numel() < kSmallestHalved) return;
    if (!passes::constant_of(node.output()) || node.output()->users().empty()) return;
    const Node& user = *node.output()->users()[0];
    LayerReport report;
    report.path = inlined_module_path(user);
    report.op = user.kind().name();
    report.reason = objection_by_name(report.path, report.op, options);
    report.quantized = report.reason.empty();
    report.weight_bytes = static_cast<size_t>(tensor.numel()) * sizeof(float);
    report.quantized_weight_bytes = report.weight_bytes / (report.quantized ? 2 : 1);
    if (report.quantized) {
      Node* conversion = node_like(user, "aten::to", "dtype", {});
      conversion->insert_after(&node);
      SsaValue* real = conversion->add_output(types::tensor());
      node.output()->replace_all_uses_with(real);
      node.set_attribute("value", Value(tensor.to(DType::kFloat16)));
      conversion->add_input(node.output());
      conversion->add_input(passes::insert_constant(
          conversion, static_cast<int64_t>(DType::kFloat32), types::integer()));
      for (int i = 0; i < 2; ++i) {
        conversion->add_input(passes::insert_constant(conversion, false, types::boolean()));
      }
      conversion->add_input(passes::insert_constant(conversion, Value(), types::none()));
    }
    reports.push_back(std::move(report));
  });
  return reports;
}

}  // namespace torchlet::quant
