#include "quant/program.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "api/loaded_model.h"
#include "base/error.h"
#include "graph/prim_kinds.h"
#include "lite/add_casts.h"
#include "passes/analysis/constants.h"
#include "passes/pipeline.h"
#include "prepare/draft.h"
#include "prepare/prune.h"
#include "prepare/training_mode.h"
#include "prepare/written_constants.h"
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

// Returns the names of the attributes that are left.
std::unordered_set<std::string> remove_unneeded(prepare::Draft& draft, const Program& program,
                                                const Graph& graph,
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
  kept.insert(program.method);  // what calls it gets the graph
  for (Function* method : methods) used.add(method->graph(), kept);
  return prepare::prune(draft, program.model, used, [](const std::string&, const Value& value) {
    return !value.is_object() && !value.is_tensor();
  });
}

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
  request.passes.erase("residuals");
  request.body_of = [&](Function& function) { return bodies.body_of(function); };
  passes::Optimized optimized = passes::optimize(*method, self, {}, request);
  graph = std::move(optimized.graph);
  writes = std::move(optimized.writes);
  prepare::construct_containers(*graph);  // the weights of an LSTM
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
  const std::unordered_set<std::string> left = remove_unneeded(draft, program, *graph, preserve);
  for (prepare::GivenAttribute& given : prepare::settle_constants({graph.get()}, left)) {
    draft.set_attribute(given.name, std::move(given.type), std::move(given.value));
  }
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
