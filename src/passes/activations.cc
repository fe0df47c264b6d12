#include "passes/activations.h"

#include <algorithm>
#include <optional>

#include "passes/analysis/constants.h"
#include "passes/analysis/layers.h"
#include "passes/analysis/rewrite.h"
#include "tensor/containers.h"

namespace torchlet::passes {
namespace {

const Symbol kRelu("aten::relu"), kRelu6("aten::relu6"), kHardtanh("aten::hardtanh"),
    kClamp("aten::clamp");
const Symbol kRuns[] = {Symbol("prepacked::conv2d_clamp_run"),
                        Symbol("prepacked::conv2d_transpose_clamp_run"),
                        Symbol("prepacked::linear_clamp_run")};

struct Bounds {
  Value low, high;  // None where there is none
};

// A number or None that is known.
bool is_bound(const Value* value) {
  return value && (value->is_none() || value->is_int() || value->is_float());
}

std::optional<Bounds> bounds_of(const Node& node) {
  if (node.kind() == kRelu) return Bounds{Value(0.0), Value()};
  if (node.kind() == kRelu6) return Bounds{Value(0.0), Value(6.0)};
  const bool tanh = node.kind() == kHardtanh;
  if (!tanh && (node.kind() != kClamp || !node.op()->schema.overload.empty())) return std::nullopt;
  const Value* low = constant_argument(node, tanh ? "min_val" : "min");
  const Value* high = constant_argument(node, tanh ? "max_val" : "max");
  if (!is_bound(low) || !is_bound(high)) return std::nullopt;
  // XNNPACK takes none but proper intervals.
  if (!low->is_none() && !high->is_none() && !(low->to_double() < high->to_double())) {
    return std::nullopt;
  }
  return Bounds{*low, *high};
}

bool fuse(Node& activation, ChangeLog* log) {
  const auto bounds = bounds_of(activation);
  Node* layer = bounds ? sole_maker(activation.input(0), activation) : nullptr;
  if (!layer || std::ranges::find(kRuns, layer->kind()) == std::end(kRuns)) return false;
  const CustomObject* context = packed_context(*layer);
  if (!context) return false;
  // The last two items of a context's state are its bounds.
  std::vector<Value> state = context->get_state().to_tuple();
  Value &low = state[state.size() - 2], &high = state.back();
  if (!low.is_none() || !high.is_none()) return false;
  low = bounds->low;
  high = bounds->high;
  const CustomClass* custom = find_custom_class(context->class_name());
  const Value bounded = custom->set_state(Value::tuple(std::move(state)));
  if (log) {
    log->note(activation.kind().str() + " of " + place_of(activation) + " fused into " +
              place_of(*layer));
  }
  layer->replace_input(1, insert_constant(layer, bounded, layer->input(1)->type()));
  replace_by(activation, *layer);
  return true;
}

// The twin that ends in a relu, if it takes the same.
const Operator* with_relu(const Node& layer) {
  if (!layer.op() || layer.kind().name_space() != "quantized") return nullptr;
  const Schema& schema = layer.op()->schema;
  const Operator* twin = find_operator(layer.kind().str() + "_relu", schema.overload);
  if (!twin || twin->schema.arguments.size() != schema.arguments.size()) return nullptr;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    if (!equal(schema.arguments[i].type, twin->schema.arguments[i].type)) return nullptr;
  }
  return twin;
}

bool fuse_quantized(Node& relu, ChangeLog* log) {
  Node* layer = relu.kind() == kRelu ? sole_maker(relu.input(0), relu) : nullptr;
  const Operator* twin = layer && layer->outputs().size() == 1 ? with_relu(*layer) : nullptr;
  if (!twin) return false;
  if (log) log->note("relu of " + place_of(relu) + " fused into " + place_of(*layer));
  Node* made = insert_call(layer, *twin, layer->inputs());
  replace_by(*layer, *made);
  replace_by(relu, *made);
  return true;
}

}  // namespace

bool fuse_activations(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.op()) changed = fuse(node, log) || changed;
  });
  return changed;
}

bool fuse_quantized_relus(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.op()) changed = fuse_quantized(node, log) || changed;
  });
  return changed;
}

}  // namespace torchlet::passes
