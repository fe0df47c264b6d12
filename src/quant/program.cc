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
#include "prepare/prune.h"
#include "prepare/training_mode.h"
#include "quant/stubs.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::quant {
namespace {

// The names of methods that a graph calls on its self.
std::set<std::string> called_on_self(const Graph& graph) {
  std::set<std::string> names;
  for (const Node* user : graph.inputs()[0]->users()) {
    if (user->kind() == prim::kCallMethod && user->input(0) == graph.inputs()[0]) {
      names.insert(user->string_attribute("name"));
    }
  }
  return names;
}

// With all methods that these call.
std::set<std::string> closure(const ClassType& type, std::set<std::string> names) {
  std::vector<std::string> open(names.begin(), names.end());
  while (!open.empty()) {
    Function* method = type.find_method(open.back());
    open.pop_back();
    if (!method) continue;
    for (const std::string& callee : called_on_self(method->graph())) {
      if (names.insert(callee).second) open.push_back(callee);
    }
  }
  return names;
}

void remove_unneeded(prepare::Draft& draft, const Program& program, const Graph& graph,
                     const std::vector<std::string>& preserve) {
  const ClassType& type = *program.self.object_ref().type;
  const std::set<std::string> inner = closure(type, called_on_self(program.method->graph()));
  std::set<std::string> wanted(preserve.begin(), preserve.end());
  for (const auto& [name, method] : type.methods()) {
    if (!inner.contains(name)) wanted.insert(name);
  }
  wanted.erase(program.name);
  wanted = closure(type, std::move(wanted));
  std::unordered_set<const Function*> kept;
  std::vector<Function*> methods;
  for (const auto& [name, method] : type.methods()) {
    if (name == program.name) continue;
    if (wanted.contains(name)) {
      kept.insert(method);
      methods.push_back(method);
    } else {
      draft.remove_method(name);
    }
  }
  passes::WriteSet writes = program.writes;
  writes.all = writes.all || !methods.empty();  // nobody has looked at what the others write
  prepare::UsedAttributes used(program.self, std::move(writes));
  used.add(graph, kept);
  for (Function* method : methods) used.add(method->graph(), kept);
  prepare::prune(draft, program.model, used, [](const std::string&, const Value& value) {
    return !value.is_object() && !value.is_tensor();
  });
}

// Gives the root of a draft attributes for what a graph reads.
class RootAttributes {
 public:
  RootAttributes(prepare::Draft& draft, Graph& graph, const Program& program)
      : draft_(draft), graph_(graph), type_(*program.self.object_ref().type) {}

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

 private:
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
  passes::Optimized optimized = passes::optimize(*method, self, {}, request);
  graph = std::move(optimized.graph);
  writes = std::move(optimized.writes);
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
  remove_unneeded(draft, program, *graph, preserve);
  RootAttributes(draft, *graph, program).take_custom_constants();
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
