#include "quant/program.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/loaded_model.h"
#include "base/error.h"
#include "graph/module_path.h"
#include "graph/prim_kinds.h"
#include "lite/add_casts.h"
#include "passes/analysis/constants.h"
#include "passes/dead_code.h"
#include "passes/pipeline.h"
#include "prepare/draft.h"
#include "prepare/training_mode.h"
#include "quant/stubs.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::quant {
namespace {

// What a graph wants of its self.
struct Needs {
  std::set<std::string> attributes, methods;
  bool all = false;  // self goes elsewhere
};

Needs needs_of(const Graph& graph) {
  Needs needs;
  const SsaValue* self = graph.inputs()[0];
  for (const Node* user : self->users()) {
    const bool first = !user->inputs().empty() && user->input(0) == self;
    const auto uses = std::ranges::count(user->inputs(), self);
    if (first && uses == 1 && (user->kind() == prim::kGetAttr || user->kind() == prim::kSetAttr)) {
      needs.attributes.insert(user->string_attribute("name"));
    } else if (first && uses == 1 && user->kind() == prim::kCallMethod) {
      needs.methods.insert(user->string_attribute("name"));
    } else {
      needs.all = true;
    }
  }
  return needs;
}

// With all methods that these call.
std::set<std::string> closure(const ClassType& type, std::set<std::string> names) {
  std::vector<std::string> open(names.begin(), names.end());
  while (!open.empty()) {
    Function* method = type.find_method(open.back());
    open.pop_back();
    if (!method) continue;
    for (const std::string& callee : needs_of(method->graph()).methods) {
      if (names.insert(callee).second) open.push_back(callee);
    }
  }
  return names;
}

bool is_heavy(const Value& value) { return value.is_object() || value.is_tensor(); }

void remove_unneeded(prepare::Draft& draft, const Program& program, const Graph& graph,
                     const std::vector<std::string>& preserve) {
  const Object& root = program.self.object_ref();
  const ClassType& type = *root.type;
  const std::set<std::string> inner = closure(type, needs_of(program.method->graph()).methods);
  std::set<std::string> wanted(preserve.begin(), preserve.end());
  for (const auto& [name, method] : type.methods()) {
    if (!inner.contains(name)) wanted.insert(name);
  }
  wanted.erase(program.name);
  wanted = closure(type, std::move(wanted));
  Needs needs = needs_of(graph);
  for (const auto& [name, method] : type.methods()) {
    if (name == program.name) continue;
    if (!wanted.contains(name)) {
      draft.remove_method(name);
      continue;
    }
    Needs more = needs_of(method->graph());
    needs.attributes.merge(more.attributes);
    needs.all = needs.all || more.all;
  }
  if (needs.all) return;
  for (size_t i = 0; i < type.attributes().size(); ++i) {
    const std::string& name = type.attributes()[i].name;
    if (is_heavy(root.slots[i]) && !needs.attributes.contains(name)) draft.remove_attribute(name);
  }
}

// Gives the root of a draft attributes for what a graph reads.
class RootAttributes {
 public:
  RootAttributes(prepare::Draft& draft, Graph& graph, const Program& program)
      : draft_(draft), graph_(graph), program_(program), type_(*program.self.object_ref().type) {}

  // Packed weights, which PyTorch does not have as constants of programs.
  void take_custom_constants() {
    passes::for_each_node(*graph_.block(), [&](Node& node) {
      if (node.kind() != prim::kConstant || !node.value_attribute("value").is_custom()) return;
      if (node.output()->users().empty()) return;
      const Node& user = *node.output()->users()[0];
      const std::string path = inlined_module_path(user);
      replace(node, path.empty() ? "packed_params" : path + ".packed_params",
              node.value_attribute("value"));
    });
  }

  // Attributes of submodules that are no constants, since the program could change them: so that
  // the submodules, with all their weights, can go.
  void take_attributes_of_submodules() {
    bool sets = false;
    std::vector<Node*> reads;
    passes::for_each_node(*graph_.block(), [&](Node& node) {
      sets = sets || node.kind() == prim::kSetAttr || node.kind() == prim::kCallMethod;
      if (node.kind() == prim::kGetAttr && node.input(0) != graph_.inputs()[0]) {
        reads.push_back(&node);
      }
    });
    if (sets) return;
    for (Node* node : reads) {
      const auto found = read(*node->output());
      if (found && !found->second.is_object()) replace(*node, found->first, found->second);
    }
    passes::remove_dead_code(graph_);
  }

 private:
  // The path and value of what attributes of attributes of self are.
  std::optional<std::pair<std::string, Value>> read(const SsaValue& value) const {
    if (&value == graph_.inputs()[0]) return std::pair(std::string(), program_.self);
    if (value.node()->kind() != prim::kGetAttr) return std::nullopt;
    auto from = read(*value.node()->input(0));
    if (!from || !from->second.is_object()) return std::nullopt;
    const std::string& name = value.node()->string_attribute("name");
    const Object& object = from->second.object_ref();
    const auto slot = object.type->find_attribute(name);
    if (!slot) return std::nullopt;
    return std::pair(from->first.empty() ? name : from->first + "." + name, object.slots[*slot]);
  }

  void replace(Node& node, const std::string& path, const Value& value) {
    const TypePtr type = node.output()->type();
    const std::string name = name_for(path);
    draft_.set_attribute(name, type, value);
    Node* get = graph_.create(prim::kGetAttr, {graph_.inputs()[0]});
    get->set_attribute("name", name);
    get->set_range(node.range());
    get->insert_before(&node);
    node.output()->replace_all_uses_with(get->add_output(type, name));
    node.destroy();
  }

  // "features_3_conv_0_packed_params"
  std::string name_for(std::string path) {
    std::ranges::replace(path, '.', '_');
    if (path[0] >= '0' && path[0] <= '9') path.insert(0, "_");
    std::string name = path;
    for (int i = 1; type_.find_attribute(name) || used_.contains(name); ++i) {
      name = path + "_" + std::to_string(i);
    }
    used_.insert(name);
    return name;
  }

  prepare::Draft& draft_;
  Graph& graph_;
  const Program& program_;
  const ClassType& type_;
  std::set<std::string> used_;
};

// Programs hold no constants that want gradients.
void detach_constants(Graph& graph) {
  passes::for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() != prim::kConstant || !node.value_attribute("value").is_tensor()) return;
    const Tensor tensor = node.value_attribute("value").to_tensor();
    if (!tensor.impl()->requires_grad) return;
    const Tensor detached =
        make_view(tensor, tensor.sizes(), tensor.strides(), tensor.storage_offset());
    detached.impl()->requires_grad = false;
    node.set_attribute("value", Value(detached));
  });
}

// Lists of tensors, such as the weights of an LSTM, become lists of constants.
void take_lists_apart(Graph& graph) {
  passes::for_each_node(*graph.block(), [&](Node& node) {
    const Value* list =
        node.kind() == prim::kConstant ? passes::constant_of(node.output()) : nullptr;
    const auto is_tensor = [](const Value& item) { return item.is_tensor(); };
    if (!list || !list->is_list() || list->list_ref().items.empty() ||
        !std::ranges::all_of(list->list_ref().items, is_tensor)) {
      return;
    }
    Node* made = graph.create(prim::kListConstruct);
    made->set_range(node.range());
    made->insert_before(&node);
    for (const Value& item : list->list_ref().items) {
      made->add_input(passes::insert_constant(made, item, types::tensor()));
    }
    node.output()->replace_all_uses_with(made->add_output(node.output()->type()));
    node.destroy();
  });
}

}  // namespace

Program::Program(const Module& module, const std::string& method_name)
    : model(module),
      name(module.get_method(method_name).name()),
      self(LoadedModel::object_of(module)),
      method(self.object_ref().type->find_method(name)) {
  if (const auto path = prepare::module_in_training(module)) {
    fail(ErrorCode::kInvalidArgument,
         (path->empty() ? "the model" : "its module '" + *path + "'") +
             std::string(" is in training mode; pass --eval to put all of it into evaluation mode "
                         "first, or call eval() on it before it is saved"));
  }
  const LimitScope scope = LoadedModel::of(module).program->limits->scope();
  StubBodies bodies;
  passes::Request request;
  request.keep_casts = true;
  request.body_of = [&](Function& function) { return bodies.body_of(function); };
  graph = passes::optimize(*method, self, {}, request).graph;
  take_lists_apart(*graph);
}

bool can_have_core(const Program& program) {
  const ClassType& type = *program.self.object_ref().type;
  const auto has_default = [](const Argument& argument) {
    return argument.default_value.has_value();
  };
  return program.name != kCoreMethod && !type.find_method(kCoreMethod) &&
         !type.find_attribute(kCoreMethod) &&
         std::ranges::none_of(program.method->schema().arguments, has_default);
}

Module with_method(const Program& program, std::unique_ptr<Graph> graph,
                   const std::vector<std::string>& preserve, const std::string& wrapper) {
  prepare::Draft draft(program.model);
  lite::add_casts(*graph, program.method->schema());
  detach_constants(*graph);
  RootAttributes attributes(draft, *graph, program);
  attributes.take_custom_constants();
  attributes.take_attributes_of_submodules();
  remove_unneeded(draft, program, *graph, preserve);
  if (wrapper.empty()) {
    draft.set_method(program.name, std::move(graph));
  } else {
    draft.set_method(kCoreMethod, std::move(graph));
    draft.remove_method(program.name);
    draft.define(wrapper);
  }
  return draft.finish();
}

}  // namespace torchlet::quant
