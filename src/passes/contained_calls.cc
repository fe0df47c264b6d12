#include "passes/contained_calls.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/function.h"
#include "graph/operator.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"

namespace torchlet::passes {
namespace {

// Of a container: each call of one of its modules becomes one of each.
constexpr size_t kMostModules = 128;

// A module of the container, and the key that picks it.
struct Contained {
  Value key;
  const ClassType::Attribute* attribute;
};

std::optional<Value> key_of(const std::string& name, TypeKind kind) {
  if (kind == TypeKind::kString) return Value(name);
  int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc() || at != end || std::to_string(number) != name) return std::nullopt;
  return Value(number);
}

bool comes_before(const Contained& a, const Contained& b) {
  return a.key.is_int() ? a.key.to_int() < b.key.to_int() : a.key.to_string() < b.key.to_string();
}

// In the order of their keys; empty if one of them does not take one of the calls.
std::vector<Contained> contained_modules(const Object& container, const Node& pick) {
  std::vector<Contained> found;
  const auto& attributes = container.type->attributes();
  for (size_t i = 0; i < attributes.size(); ++i) {
    const auto key = key_of(attributes[i].name, pick.input(1)->type()->kind());
    if (!key || !container.slots.at(i).is_object()) continue;
    const ClassType* module = attributes[i].type->as_class();
    if (!module || module->is(TypeKind::kInterface)) return {};
    for (const Node* call : pick.output()->users()) {
      Function* method = module->find_method(call->string_attribute("name"));
      if (!method || method->schema().arguments.size() != call->inputs().size()) return {};
    }
    found.push_back({*key, &attributes[i]});
  }
  std::ranges::sort(found, comes_before);
  return found;
}

struct Operators {
  const Operator *less, *contains, *format;
  explicit Operators(TypeKind key)
      : less(find_operator("aten::lt", key == TypeKind::kInt ? "int" : "str")),
        contains(
            find_operator("aten::__contains__", key == TypeKind::kInt ? "int_list" : "str_list")),
        format(find_operator("aten::format", "")) {}
};

// Writes what stands for a pick and for the calls of what it gives.
class Branches {
 public:
  Branches(Node& pick, std::span<const Contained> modules, const Operators& operators)
      : container_(pick.input(0)), key_(pick.input(1)), operators_(operators), at_(&pick) {
    guard(modules);
  }

  // A binary search of the key, whose leaves are calls, stands for the call.
  void replace(Node& call, std::span<const Contained> modules) {
    at_ = &call;
    call.output()->replace_all_uses_with(search(modules, nullptr));
    call.destroy();
  }

 private:
  // Where the container lacks the key the pick would have raised this.
  void guard(std::span<const Contained> modules) {
    std::vector<Value> keys;
    for (const Contained& module : modules) keys.push_back(module.key);
    SsaValue* known = constant(Value::list(std::move(keys)), types::list(key_->type()), nullptr);
    Node* choice = add(prim::kIf, {apply(*operators_.contains, {known, key_}, nullptr)}, nullptr);
    choice->add_block();
    Block* other = choice->add_block();
    const std::string text = "'" + container_->type()->name() + "' has no module '{}'";
    SsaValue* pattern = constant(Value(text), types::string(), other);
    SsaValue* message = apply(*operators_.format, {pattern, key_}, other);
    add(prim::kRaiseException, {message, constant(Value(), types::none(), other)}, other);
  }

  SsaValue* search(std::span<const Contained> modules, Block* block) {
    if (modules.size() == 1) return emit_call(*modules[0].attribute, block);
    const size_t half = modules.size() / 2;
    SsaValue* bound = constant(modules[half].key, key_->type(), block);
    Node* choice = add(prim::kIf, {apply(*operators_.less, {key_, bound}, block)}, block);
    for (const auto part : {modules.first(half), modules.subspan(half)}) {
      Block* taken = choice->add_block();
      taken->add_output(search(part, taken));
    }
    return choice->add_output(at_->output()->type());
  }

  SsaValue* emit_call(const ClassType::Attribute& attribute, Block* block) {
    Node* module = add(prim::kGetAttr, {container_}, block);
    module->set_attribute("name", attribute.name);
    std::vector<SsaValue*> inputs = at_->inputs();
    inputs[0] = module->add_output(attribute.type);
    Node* call = add(prim::kCallMethod, std::move(inputs), block);
    const std::string& method = at_->string_attribute("name");
    call->set_attribute("name", method);
    call->set_attribute("function", attribute.type->as_class()->find_method(method));
    return call->add_output(at_->output()->type());
  }

  SsaValue* constant(Value value, TypePtr type, Block* block) {
    Node* node = add(prim::kConstant, {}, block);
    node->set_attribute("value", std::move(value));
    return node->add_output(std::move(type));
  }

  SsaValue* apply(const Operator& op, std::vector<SsaValue*> inputs, Block* block) {
    Node* node = add(op.name, std::move(inputs), block);
    node->set_op(&op);
    return node->add_output(op.schema.returns[0].type);
  }

  // At the end of the block or, if it is null, in front of what it will stand for.
  Node* add(Symbol kind, std::vector<SsaValue*> inputs, Block* block) {
    Node* node = at_->graph()->create(kind, std::move(inputs));
    node->set_range(at_->range());
    node->set_inlined_call(at_->inlined_call());
    if (block) return block->append(node);
    node->insert_before(at_);
    return node;
  }

  SsaValue *const container_, *const key_;
  const Operators& operators_;
  Node* at_;
};

bool is_open_call(const Node& node, const SsaValue* module) {
  return node.kind() == prim::kCallMethod && !node.has_attribute("function") &&
         std::ranges::count(node.inputs(), module) == 1 && node.input(0) == module;
}

bool branch(Node& pick, KnownObjects& objects) {
  const std::vector<Node*> calls = pick.output()->users();
  const TypeKind key = pick.input(1)->type()->kind();
  if (calls.empty() || constant_of(pick.input(1)) ||
      (key != TypeKind::kInt && key != TypeKind::kString) ||
      !std::ranges::all_of(calls,
                           [&](const Node* user) { return is_open_call(*user, pick.output()); })) {
    return false;
  }
  const Operators operators(key);
  if (!operators.less || !operators.contains || !operators.format) return false;
  const auto container = objects.known(pick.input(0));
  if (!container || !container->is_object()) return false;
  const auto modules = contained_modules(container->object_ref(), pick);
  if (modules.empty() || modules.size() > kMostModules) return false;
  Branches branches(pick, modules, operators);
  for (Node* call : calls) branches.replace(*call, modules);
  pick.destroy();
  return true;
}

}  // namespace

bool branch_contained_calls(Graph& graph, KnownObjects& objects) {
  std::vector<Node*> picks;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() == prim::kModuleContainerIndex) picks.push_back(&node);
  });
  bool changed = false;
  for (Node* pick : picks) changed = branch(*pick, objects) || changed;
  return changed;
}

}  // namespace torchlet::passes
