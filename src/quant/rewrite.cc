#include "quant/rewrite.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/dead_code.h"
#include "quant/stubs.h"
#include "tensor/containers.h"

namespace torchlet::quant {
namespace {

const Symbol kParam("prim::Param");

void collect(Block& block, std::vector<Node*>& nodes) {
  for (Node* node : block) {
    nodes.push_back(node);
    for (Block* inner : node->blocks()) collect(*inner, nodes);
  }
}

// Inner nodes behind their owner.
std::vector<Node*> nodes_in_order(Graph& graph) {
  std::vector<Node*> nodes;
  collect(*graph.block(), nodes);
  return nodes;
}

// Of a node that gives a list (chunk, split): what takes the list apart, if nobody else has it.
Node* unpacking_of(const Node& node) {
  const auto& users = node.output()->users();
  const bool is_alone = users.size() == 1 && users[0]->kind() == prim::kListUnpack;
  return is_alone ? users[0] : nullptr;
}

bool gives_list(const Node& node) { return node.output()->type()->kind() == TypeKind::kList; }

bool can_follow(const Node& node) {
  return follows_quantization(node) && (!gives_list(node) || unpacking_of(node));
}

bool has_weights(const Layer& layer) {
  return layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear;
}

const std::vector<SsaValue*>& results_of(const Node& follower) {
  return gives_list(follower) ? unpacking_of(follower)->outputs() : follower.outputs();
}

using LayerAt = std::unordered_map<const Node*, size_t>;
LayerAt layers_by_node(const std::vector<Layer>& layers) {
  LayerAt at;
  for (size_t i = 0; i < layers.size(); ++i) at.emplace(layers[i].node, i);
  return at;
}

class Rewriting {
 public:
  Rewriting(Graph& graph, const std::vector<Layer>& layers, const std::vector<LayerChoice>& choices)
      : graph_(graph), layers_(layers), choices_(choices), layer_at_(layers_by_node(layers)) {}

  std::vector<SsaValue*> run() {
    std::vector<SsaValue*> results(layers_.size());
    for (Node* node : nodes_in_order(graph_)) {
      const auto layer = layer_at_.find(node);
      if (layer != layer_at_.end() && choices_[layer->second].quantize) {
        results[layer->second] = quantize(layers_[layer->second], choices_[layer->second]);
      } else if (can_follow(*node) && made_.contains(node->input(0))) {
        follow(*node);
      }
    }
    for (SsaValue* value : made_in_order_) give_real_numbers(value);
    for (size_t i = replaced_.size(); i-- > 0;) replaced_[i]->destroy();
    remove_stubs(graph_);
    passes::remove_dead_code(graph_);
    return results;
  }

 private:
  Node* node_like(const Node& model, const char* name, const char* overload,
                  std::vector<SsaValue*> inputs) {
    const Operator* op = find_operator(name, overload);
    if (!op) fail(ErrorCode::kInternal, "there is no operator %s.%s", name, overload);
    Node* node = graph_.create(Symbol(name), std::move(inputs));
    node->set_op(op);
    return placed_like(node, model);
  }
  Node* placed_like(Node* node, const Node& model) {
    node->set_range(model.range());
    node->set_inlined_call(model.inlined_call());
    node->add_output(types::tensor());
    return node;
  }

  SsaValue* real(Node* before, double value) {
    return passes::insert_constant(before, value, types::floating());
  }
  SsaValue* integer(Node* before, int64_t value) {
    return passes::insert_constant(before, value, types::integer());
  }

  // The quantized form of a value of real numbers.
  SsaValue* quantized(SsaValue* value, const QParams& params) {
    if (const auto made = made_.find(value); made != made_.end()) return made->second;
    SsaValue*& result = quantized_[value];
    if (result) return result;
    Node* definer = value->node();
    // A block's parameters are all there when its first node runs.
    const bool is_parameter = definer->kind() == kParam;
    Node* first = definer->owner()->first();
    Node* node = conversion(is_parameter ? *first : *definer, value);
    is_parameter ? node->insert_before(first) : node->insert_after(definer);
    set_steps(*node, params);
    return result = node->output();
  }

  Node* conversion(const Node& model, SsaValue* value) {
    return node_like(model, "aten::quantize_per_tensor", "", {value});
  }
  void set_steps(Node& conversion, const QParams& params) {
    conversion.add_input(real(&conversion, params.scale));
    conversion.add_input(integer(&conversion, params.zero_point));
    conversion.add_input(integer(&conversion, static_cast<int64_t>(DType::kQUInt8)));
  }

  std::vector<SsaValue*> quantized_inputs(const Layer& layer, const LayerChoice& choice) {
    std::vector<SsaValue*> inputs;
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      inputs.push_back(quantized(layer.inputs[i], choice.inputs[i]));
    }
    return inputs;
  }

  SsaValue* quantize(const Layer& layer, const LayerChoice& choice) {
    Node* last = layer.last();
    if (layer.kind == LayerKind::kQuantStub) {
      Node* node = conversion(*last, layer.inputs[0]);
      node->insert_before(last);
      set_steps(*node, choice.output);
      replaced_.push_back(last);
      made(layer.output(), node->output());
      return node->output();
    }
    const std::vector<SsaValue*> inputs = quantized_inputs(layer, choice);
    Node* node = nullptr;
    const auto with_params = [&](const char* name, const char* overload) {
      node = node_like(*layer.node, name, overload, inputs);
      node->insert_before(last);
      if (has_weights(layer)) {
        node->add_input(passes::insert_constant(node, choice.packed, type_of(choice.packed)));
      }
    };
    const auto with_output = [&] {
      node->add_input(real(node, choice.output.scale));
      node->add_input(integer(node, choice.output.zero_point));
    };
    const auto argument = [&](const char* name) {
      return layer.node->input(*layer.node->op()->schema.find_argument(name));
    };
    switch (layer.kind) {
      case LayerKind::kConv:
        if (layer.op == "conv1d") {
          with_params(layer.relu ? "quantized::conv1d_relu" : "quantized::conv1d", "");
        } else {
          with_params(layer.relu ? "quantized::conv2d_relu" : "quantized::conv2d", "new");
        }
        with_output();
        break;
      case LayerKind::kLinear:
        with_params(layer.relu ? "quantized::linear_relu" : "quantized::linear", "");
        with_output();
        break;
      case LayerKind::kAdd:
        with_params(layer.relu ? "quantized::add_relu" : "quantized::add", "");
        with_output();
        break;
      case LayerKind::kMul:
        with_params(layer.relu ? "quantized::mul_relu" : "quantized::mul", "");
        with_output();
        break;
      case LayerKind::kCat: {
        Node* list = graph_.create(prim::kListConstruct, inputs);
        list->add_output(types::list(types::tensor()));
        list->set_range(layer.node->range());
        list->set_inlined_call(layer.node->inlined_call());
        list->insert_before(last);
        node = node_like(*layer.node, layer.relu ? "quantized::cat_relu" : "quantized::cat", "",
                         {list->output(), argument("dim")});
        node->insert_before(last);
        with_output();
        break;
      }
      case LayerKind::kActivation:
        quantize_activation(layer, choice, inputs, node);
        break;
      case LayerKind::kUnit:
        node = graph_.create(layer.node->kind(), inputs);
        node->set_op(layer.node->op());
        placed_like(node, *layer.node)->insert_before(last);
        break;
      case LayerKind::kQuantStub:
        break;
    }
    if (layer.kind == LayerKind::kCat) {
      // Whose list must go before its items do.
      replaced_.push_back(layer.node->input(0)->node());
    }
    replaced_.push_back(layer.node);
    if (layer.activation) replaced_.push_back(layer.activation);
    made(layer.output(), node->output());
    return node->output();
  }

  void quantize_activation(const Layer& layer, const LayerChoice& choice,
                           const std::vector<SsaValue*>& inputs, Node*& node) {
    const auto argument = [&](const char* name) {
      return layer.node->input(*layer.node->op()->schema.find_argument(name));
    };
    const auto begin = [&](const char* name) {
      node = node_like(*layer.node, name, "", inputs);
      node->insert_before(layer.last());
    };
    const auto with_output = [&] {
      node->add_input(real(node, choice.output.scale));
      node->add_input(integer(node, choice.output.zero_point));
    };
    if (layer.op == "hardswish") {
      begin("quantized::hardswish");
      with_output();
    } else if (layer.op == "leaky_relu") {
      begin("quantized::leaky_relu");
      node->add_input(argument("negative_slope"));
      node->add_input(passes::insert_constant(node, false, types::boolean()));
      with_output();
    } else {
      begin("quantized::elu");
      with_output();
      for (const char* name : {"alpha", "scale", "input_scale"}) node->add_input(argument(name));
    }
  }

  // The same operator on the quantized tensor.
  void follow(Node& node) {
    std::vector<SsaValue*> inputs = node.inputs();
    inputs[0] = made_.at(inputs[0]);
    Node* copy = graph_.create(node.kind(), std::move(inputs));
    copy->set_op(node.op());
    copy->set_range(node.range());
    copy->set_inlined_call(node.inlined_call());
    copy->add_output(node.output()->type());
    copy->insert_before(&node);
    replaced_.push_back(&node);
    if (!gives_list(node)) return made(node.output(), copy->output());
    Node* unpacking = unpacking_of(node);
    Node* unpacked = graph_.create(prim::kListUnpack, {copy->output()});
    unpacked->set_range(unpacking->range());
    unpacked->set_inlined_call(unpacking->inlined_call());
    unpacked->insert_before(unpacking);
    replaced_.push_back(unpacking);
    for (SsaValue* output : unpacking->outputs()) {
      made(output, unpacked->add_output(types::tensor()));
    }
  }

  void made(SsaValue* value, SsaValue* quantized) {
    quantized->set_name(value->name());
    made_.emplace(value, quantized);
    made_in_order_.push_back(value);
  }

  // To all that stay and read the value; of those that only ask for sizes the quantized one.
  void give_real_numbers(SsaValue* value) {
    SsaValue* const source = made_.at(value);
    Node* conversion = nullptr;
    const std::unordered_set<const Node*> gone(replaced_.begin(), replaced_.end());
    const std::vector<Node*> users = value->users();
    for (Node* user : users) {
      if (gone.contains(user)) continue;
      const bool only_sizes = user->op() && user->op()->facts->looks_at == LooksAt::kSizes;
      if (!only_sizes && !conversion) {
        conversion = node_like(*source->node(), "aten::dequantize", "self", {source});
        conversion->insert_after(source->node());
      }
      SsaValue* const given = only_sizes ? source : conversion->output();
      for (size_t i = 0; i < user->inputs().size(); ++i) {
        if (user->input(i) == value) user->replace_input(i, given);
      }
    }
  }

  Graph& graph_;
  const std::vector<Layer>& layers_;
  const std::vector<LayerChoice>& choices_;
  const LayerAt layer_at_;
  std::unordered_map<const SsaValue*, SsaValue*> quantized_;  // by conversion
  std::unordered_map<const SsaValue*, SsaValue*> made_;       // by what took a node's place
  std::vector<SsaValue*> made_in_order_;
  std::vector<Node*> replaced_;
};

}  // namespace

std::vector<SsaValue*> rewrite(Graph& graph, const std::vector<Layer>& layers,
                               const std::vector<LayerChoice>& choices) {
  return Rewriting(graph, layers, choices).run();
}

std::vector<bool> worth_quantizing(Graph& graph, const std::vector<Layer>& layers,
                                   std::vector<bool> wanted) {
  const LayerAt layer_at = layers_by_node(layers);
  const std::vector<Node*> nodes = nodes_in_order(graph);
  const auto layer_of = [&](const Node* node) -> const Layer* {
    const auto found = layer_at.find(node);
    return found != layer_at.end() && wanted[found->second] ? &layers[found->second] : nullptr;
  };
  for (bool changed = true; changed;) {
    changed = false;
    std::unordered_set<const SsaValue*> given, needed;
    const auto is_given = [&](const SsaValue* value) { return given.contains(value); };
    const auto is_needed = [&](const SsaValue* value) { return needed.contains(value); };
    for (const Node* node : nodes) {
      if (const Layer* layer = layer_of(node)) {
        if (has_weights(*layer) || layer->kind == LayerKind::kQuantStub ||
            std::ranges::any_of(layer->inputs, is_given)) {
          given.insert(layer->output());
        }
      } else if (can_follow(*node) && is_given(node->input(0))) {
        for (const SsaValue* result : results_of(*node)) given.insert(result);
      }
    }
    for (size_t i = nodes.size(); i-- > 0;) {
      const Node* node = nodes[i];
      if (node->kind() == kDeQuantStub) {
        needed.insert(node->input(0));
      } else if (const Layer* layer = layer_of(node)) {
        if (layer->kind == LayerKind::kQuantStub) continue;
        if (has_weights(*layer) || is_needed(layer->output())) {
          needed.insert(layer->inputs.begin(), layer->inputs.end());
        }
      } else if (can_follow(*node) && std::ranges::any_of(results_of(*node), is_needed)) {
        needed.insert(node->input(0));
      }
    }
    for (size_t i = 0; i < layers.size(); ++i) {
      if (!wanted[i] || has_weights(layers[i])) continue;
      if (is_given(layers[i].output()) && is_needed(layers[i].output())) continue;
      wanted[i] = false;
      changed = true;
    }
  }
  return wanted;
}

}  // namespace torchlet::quant
