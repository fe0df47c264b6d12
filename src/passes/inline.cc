#include "passes/inline.h"

#include <torchlet/error.h>

#include <algorithm>
#include <unordered_map>

#include "base/limits.h"
#include "graph/clone.h"
#include "graph/module_path.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"

namespace torchlet::passes {
namespace {

size_t depth_inside(const Block& block) {
  size_t deepest = 0;
  for (const Node* node : block) {
    for (const Block* inner : node->blocks()) deepest = std::max(deepest, 1 + depth_inside(*inner));
  }
  return deepest;
}

size_t depth_of(const Node& node) {
  size_t depth = 0;
  for (const Node* at = node.owner()->owner(); at; at = at->owner()->owner()) ++depth;
  return depth;
}

class Inliner {
 public:
  Inliner(Graph& graph, const Function& function, size_t max_nodes, const BodyOf& body_of)
      : graph_(graph),
        function_(function),
        max_nodes_(max_nodes),
        body_of_(body_of),
        num_nodes_(count_nodes(*graph.block())) {}

  bool run() {
    block(*graph_.block());
    return changed_;
  }

 private:
  struct Callee {
    const Graph* graph = nullptr;  // null if it cannot be inlined
    size_t num_nodes = 0, depth = 0;
  };

  void block(Block& block) {
    for (Node* node = block.first(); node;) {
      for (Block* inner : node->blocks()) this->block(*inner);
      Node* next = node->next();
      if (node->has_attribute("function") && inline_call(*node)) changed_ = true;
      node = next;
    }
  }

  bool inline_call(Node& call) {
    Function* function = call.function_attribute("function");
    if (is_recursive(call, function)) return false;
    const Callee& callee = callee_of(*function);
    if (!callee.graph || callee.graph->inputs().size() != call.inputs().size() ||
        callee.graph->outputs().size() > 1 || call.outputs().size() > 1 ||
        num_nodes_ + callee.num_nodes > max_nodes_ ||
        depth_of(call) + callee.depth > kMaxBlockDepth) {
      return false;
    }
    num_nodes_ += callee.num_nodes;

    auto inlined = std::make_shared<InlinedCall>();
    inlined->caller = call.inlined_call();
    inlined->range = call.range();
    inlined->callee = function;
    if (call.kind() == prim::kCallMethod) inlined->module_path = module_path(call);

    ValueMap values;
    for (size_t i = 0; i < call.inputs().size(); ++i) {
      values[callee.graph->inputs()[i]] = call.input(i);
    }
    for (const Node* node : *callee.graph->block()) {
      Node* copy = clone_node(*node, graph_, values);
      set_inlined_call(*copy, inlined);
      copy->insert_before(&call);
    }
    if (!call.outputs().empty()) {
      call.output()->replace_all_uses_with(result_of(*callee.graph, values, call));
    }
    call.destroy();
    return true;
  }

  SsaValue* result_of(const Graph& callee, const ValueMap& values, Node& call) {
    if (!callee.outputs().empty()) return values.at(callee.outputs()[0]);
    Node* none = graph_.create(prim::kConstant);
    none->set_attribute("value", Value());
    none->insert_before(&call);
    return none->add_output(types::none());
  }

  static void set_inlined_call(Node& node, const std::shared_ptr<const InlinedCall>& call) {
    node.set_inlined_call(call);
    for (Block* inner : node.blocks()) {
      for (Node* deeper : *inner) set_inlined_call(*deeper, call);
    }
  }

  bool is_recursive(const Node& call, const Function* function) const {
    if (function == &function_) return true;
    for (const InlinedCall* at = call.inlined_call().get(); at; at = at->caller.get()) {
      if (at->callee == function) return true;
    }
    return false;
  }

  const Callee& callee_of(Function& function) {
    const auto [found, is_new] = callees_.try_emplace(&function);
    if (is_new) {
      try {
        const Graph* given = body_of_ ? body_of_(function) : nullptr;
        found->second.graph = given ? given : &function.graph();
        found->second.num_nodes = count_nodes(*found->second.graph->block());
        found->second.depth = depth_inside(*found->second.graph->block());
      } catch (const Error& error) {
        if (is_limit(error.code())) throw;
        // A function that does not compile is an error when it is reached, as without inlining.
      }
    }
    return found->second;
  }

  Graph& graph_;
  const Function& function_;
  const size_t max_nodes_;
  const BodyOf& body_of_;
  size_t num_nodes_;
  bool changed_ = false;
  std::unordered_map<Function*, Callee> callees_;
};

}  // namespace

bool inline_calls(Graph& graph, const Function& function, size_t max_nodes, const BodyOf& body_of) {
  return Inliner(graph, function, max_nodes, body_of).run();
}

}  // namespace torchlet::passes
