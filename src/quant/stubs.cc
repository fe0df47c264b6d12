#include "quant/stubs.h"

#include <algorithm>
#include <utility>

#include "graph/clone.h"
#include "graph/operator.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"

namespace torchlet::quant {
namespace {

const Symbol kToReal("aten::dequantize");

// ---- the two operators ----

struct StubOperator : Operator {
  explicit StubOperator(Symbol kind)
      : Operator{kind, parse_schema(kind.str() + "(Tensor(a) x) -> Tensor(a)"), give_back} {
    known.rank = RankRule::kFirst;
    known.dtype = DTypeRule::kFirst;
    known.never_raises = true;
    facts = &known;
  }
  Facts known;

  static void give_back(const Operator& /*op*/, std::span<Value> values, std::span<Value> results) {
    results[0] = std::move(values[0]);
  }
};

const Operator& operator_of(Symbol kind) {
  static const StubOperator begin(kQuantStub), end(kDeQuantStub);
  return kind == kQuantStub ? begin : end;
}

// ---- the calls ----

// "__torch__.torch.ao.quantization.stubs.___torch_mangle_3.QuantStub.forward" without the names
// that tell classes apart.
std::string without_mangling(const std::string& name) {
  constexpr std::string_view kMangle = "___torch_mangle_";
  std::string result;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    const std::string part = name.substr(at, end - at);
    if (!part.starts_with(kMangle)) result += (result.empty() ? "" : ".") + part;
    at = end + 1;
  }
  return result;
}

// kQuantStub, kDeQuantStub, or an empty symbol if it is another function.
Symbol stub_kind(const Function& function) {
  if (!function.qualified_name().ends_with("Stub.forward")) return {};
  const std::string full = without_mangling(function.qualified_name());
  for (const char* package :
       {"__torch__.torch.ao.quantization.stubs.", "__torch__.torch.quantization.stubs."}) {
    if (full == std::string(package) + "QuantStub.forward") return kQuantStub;
    if (full == std::string(package) + "DeQuantStub.forward") return kDeQuantStub;
  }
  return {};
}

// forward(self, x) with the stub's node.
std::unique_ptr<Graph> graph_of_stub(Symbol kind) {
  auto graph = std::make_unique<Graph>();
  graph->block()->add_input(types::any(), "self");
  SsaValue* x = graph->block()->add_input(types::tensor(), "x");
  Node* node = graph->block()->append(graph->create(kind, {x}));
  node->set_op(&operator_of(kind));
  graph->block()->add_output(node->add_output(types::tensor(), "x"));
  return graph;
}

bool is_tensor(const SsaValue* value) { return value->type()->kind() == TypeKind::kTensor; }

bool calls_stub_without_tensor(const Node& node) {
  return node.kind() == prim::kCallMethod && node.has_attribute("function") &&
         node.inputs().size() == 1 && stub_kind(*node.function_attribute("function")) != Symbol();
}

// Gives the calls of a traced graph the tensors that the stubs were called with.
class TracedCalls {
 public:
  explicit TracedCalls(Graph& graph) : graph_(graph) {}

  void run() {
    SsaValue* last = nullptr;
    for (Node* node = graph_.block()->first(); node;) {
      Node* const current = std::exchange(node, node->next());
      if (calls_stub_without_tensor(*current)) {
        const bool begins = stub_kind(*current->function_attribute("function")) == kQuantStub;
        SsaValue* value = begins && !last ? next_argument() : last;
        if (value) last = pass(*current, *value);
        remove(*current);
        continue;
      }
      for (SsaValue* output : current->outputs()) {
        if (is_tensor(output) && current->kind() != prim::kGetAttr) last = output;
      }
    }
  }

 private:
  SsaValue* next_argument() {
    const auto& inputs = graph_.inputs();
    while (++argument_ < inputs.size()) {
      if (is_tensor(inputs[argument_])) return inputs[argument_];
    }
    return nullptr;
  }

  // The call takes the value, and who reads that behind it reads the call's.
  SsaValue* pass(Node& call, SsaValue& value) {
    Node* with_value = graph_.create(prim::kCallMethod, {call.input(0), &value});
    for (const auto& [name, attribute] : call.attributes()) {
      with_value->set_attribute(name, attribute);
    }
    with_value->set_range(call.range());
    with_value->insert_after(&call);
    SsaValue* result = with_value->add_output(types::tensor(), value.name());
    std::unordered_set<const Node*> behind = {graph_.block()->return_node()};
    for (Node* node = with_value->next(); node; node = node->next()) behind.insert(node);
    const std::vector<Node*> users = value.users();
    for (Node* user : users) {
      if (!behind.contains(user)) continue;
      for (size_t i = 0; i < user->inputs().size(); ++i) {
        if (user->input(i) == &value) user->replace_input(i, result);
      }
    }
    return result;
  }

  // Which gives None.
  static void remove(Node& call) {
    if (!call.output()->users().empty()) {
      call.output()->replace_all_uses_with(passes::insert_constant(&call, Value(), types::none()));
    }
    call.destroy();
  }

  Graph& graph_;
  size_t argument_ = 0;
};

// ---- what is between them ----

bool holds_tensors(const Type& type) {
  if (type.kind() == TypeKind::kTensor) return true;
  return std::ranges::any_of(type.elements(),
                             [](const TypePtr& element) { return holds_tensors(*element); });
}

class Region {
 public:
  explicit Region(const Graph& graph) {
    bool begins = false;
    passes::for_each_node(*graph.block(),
                          [&](const Node& node) { begins |= node.kind() == kQuantStub; });
    if (!begins) {
      for (size_t i = 1; i < graph.inputs().size(); ++i) add(graph.inputs()[i]);
    }
    do {
      changed_ = false;
      visit(*graph.block());
    } while (changed_);
  }
  std::unordered_set<const SsaValue*> take() { return std::move(values_); }

 private:
  bool has(const SsaValue* value) const { return values_.contains(value); }
  void add(const SsaValue* value) {
    if (holds_tensors(*value->type())) changed_ |= values_.insert(value).second;
  }
  void add_if(bool condition, const SsaValue* value) {
    if (condition) add(value);
  }

  void visit(const Block& block) {
    for (const Node* node : block) {
      if (node->kind() == prim::kLoop) enter_loop(*node);
      for (const Block* inner : node->blocks()) visit(*inner);
      if (node->kind() == kDeQuantStub || node->kind() == kToReal) continue;
      if (node->blocks().empty()) {
        const bool inside =
            node->kind() == kQuantStub ||
            std::ranges::any_of(node->inputs(), [&](const SsaValue* input) { return has(input); });
        for (const SsaValue* output : node->outputs()) add_if(inside, output);
        continue;
      }
      // A loop's block gives the condition first.
      const size_t skipped = node->kind() == prim::kLoop ? 1 : 0;
      for (const Block* inner : node->blocks()) {
        for (size_t i = 0; i < node->outputs().size() && i + skipped < inner->outputs().size();
             ++i) {
          add_if(has(inner->outputs()[i + skipped]), node->output(i));
        }
      }
    }
  }

  void enter_loop(const Node& loop) {
    const Block& body = *loop.block(0);
    for (size_t i = 1; i < body.inputs().size(); ++i) {
      add_if(has(loop.input(i + 1)) || has(body.outputs()[i]), body.inputs()[i]);
      add_if(has(loop.input(i + 1)), loop.output(i - 1));  // if it never runs
    }
  }

  std::unordered_set<const SsaValue*> values_;
  bool changed_ = false;
};

bool is_stub(const Node& node) { return node.kind() == kQuantStub || node.kind() == kDeQuantStub; }

}  // namespace

const Graph* StubBodies::body_of(Function& function) {
  const auto [found, is_new] = bodies_.try_emplace(&function);
  if (!is_new) return found->second.get();
  if (const Symbol kind = stub_kind(function); kind != Symbol()) {
    return (found->second = graph_of_stub(kind)).get();
  }
  bool calls = false;
  for (const Node* node : *function.graph().block()) calls |= calls_stub_without_tensor(*node);
  if (!calls) return nullptr;
  found->second = clone_graph(function.graph());
  TracedCalls(*found->second).run();
  return found->second.get();
}

bool has_stubs(const Graph& graph) {
  bool found = false;
  passes::for_each_node(*graph.block(), [&](const Node& node) { found |= is_stub(node); });
  return found;
}

std::unordered_set<const SsaValue*> values_between_stubs(const Graph& graph) {
  return Region(graph).take();
}

void remove_stubs(Graph& graph) {
  passes::for_each_node(*graph.block(), [](Node& node) {
    if (!is_stub(node)) return;
    node.output()->replace_all_uses_with(node.input(0));
    node.destroy();
  });
}

}  // namespace torchlet::quant
