#include <torchlet/module.h>

#include <algorithm>
#include <unordered_set>

#include "api/arguments.h"
#include "api/deep_copy.h"
#include "api/loaded_model.h"
#include "base/error.h"
#include "tensor/containers.h"

namespace torchlet {
namespace {

bool is_module(const Value& value) {
  return value.is_object() && value.object_ref().type->is_module();
}

// Calls visit(path, attribute, value) for each attribute of the module and of those below it. A
// module that is reachable in two ways is visited once, as PyTorch does.
template <typename Visit>
void walk(const Value& module, const std::string& prefix, std::unordered_set<const Object*>& seen,
          const Visit& visit) {
  const Object& object = module.object_ref();
  if (!seen.insert(&object).second) return;
  const DepthGuard guard;
  const auto& attributes = object.type->attributes();
  for (size_t i = 0; i < attributes.size() && i < object.slots.size(); ++i) {
    if (!is_module(object.slots[i])) {
      visit(prefix + attributes[i].name, attributes[i], object.slots[i]);
    }
  }
  for (size_t i = 0; i < attributes.size() && i < object.slots.size(); ++i) {
    if (is_module(object.slots[i])) {
      walk(object.slots[i], prefix + attributes[i].name + ".", seen, visit);
    }
  }
}

std::vector<std::pair<std::string, Tensor>> tensors_of(const Value& module,
                                                       ClassType::AttributeKind kind) {
  std::vector<std::pair<std::string, Tensor>> result;
  std::unordered_set<const Object*> seen;
  walk(module, "", seen,
       [&](std::string path, const ClassType::Attribute& attribute, const Value& value) {
         if (attribute.kind != kind || !value.is_tensor()) return;
         result.emplace_back(std::move(path), value.to_tensor());
       });
  return result;
}

}  // namespace

// ---- Method ----

Method::Method(std::shared_ptr<LoadedModel> model, Value self, std::string name, Function* function)
    : model_(std::move(model)),
      self_(std::move(self)),
      name_(std::move(name)),
      function_(function) {}

std::vector<MethodArgument> Method::arguments() const {
  std::vector<MethodArgument> result;
  const auto& declared = function_->schema().arguments;
  for (size_t i = 1; i < declared.size(); ++i) {
    result.push_back({declared[i].name, declared[i].type->str(), declared[i].default_value});
  }
  return result;
}

std::string Method::return_type() const {
  const auto& returns = function_->schema().returns;
  return returns.empty() ? "NoneType" : returns[0].type->str();
}

std::string Method::schema() const {
  std::string text = name_ + "(";
  const char* separator = "";
  for (const MethodArgument& argument : arguments()) {
    text += separator + argument.type + " " + argument.name;
    if (argument.default_value) text += "=" + to_text(*argument.default_value);
    separator = ", ";
  }
  return text + ") -> " + return_type();
}

std::string Method::graph() const {
  const LimitScope scope = model_->program->limits->scope();
  return function_->graph().str();
}

std::string Method::optimized_graph() const {
  const LimitScope scope = model_->program->limits->scope();
  return model_->methods.get(*function_, self_)->graph().str();
}

Value Method::operator()(std::vector<Value> arguments, const Kwargs& kwargs) const {
  const LoadedProgram& program = *model_->program;
  const LimitScope scope = program.limits->scope();
  // The vector of the thread's last call is used again, so that calls do not touch the heap.
  thread_local std::vector<Value> spare;
  std::vector<Value> bound = std::exchange(spare, {});
  bound.clear();
  api::bind_arguments(function_->schema(), self_, arguments, kwargs, bound);
  arguments.clear();
  Value result;
  if (program.runs_as_written()) {
    result = program.interpreter.call(*function_, program.interpreter.code(*function_), bound);
  } else {
    const size_t placement = model_->placement_for(*function_, bound);
    const auto optimized = model_->methods.get(*function_, self_, placement);
    result = program.interpreter.call(*optimized, optimized->code(), bound);
  }
  bound.clear();
  spare = std::move(bound);
  return result;
}

// ---- Module ----

Module::Module(std::shared_ptr<LoadedModel> model, Value object)
    : model_(std::move(model)), object_(std::move(object)) {}

Value Module::forward(std::vector<Value> inputs, const Kwargs& kwargs) const {
  return get_method("forward")(std::move(inputs), kwargs);
}

std::optional<Method> Module::find_method(std::string_view name) const {
  Function* function = object_.object_ref().type->find_method(name);
  if (!function) return std::nullopt;
  return Method(model_, object_, std::string(name), function);
}

Method Module::get_method(std::string_view name) const {
  if (auto method = find_method(name)) return *std::move(method);
  std::string known;
  for (const auto& [other, function] : object_.object_ref().type->methods()) {
    known += (known.empty() ? "" : ", ") + other;
  }
  fail(ErrorCode::kNotFound, "the module " + type_name() + " has no method '" + std::string(name) +
                                 "'; it has: " + (known.empty() ? "none" : known));
}

std::vector<Method> Module::methods() const {
  std::vector<Method> result;
  for (const auto& [name, function] : object_.object_ref().type->methods()) {
    result.push_back(Method(model_, object_, name, function));
  }
  return result;
}

std::string Module::type_name() const { return object_.object_ref().type->name(); }

bool Module::hasattr(std::string_view name) const {
  return object_.object_ref().type->find_attribute(name).has_value();
}

Value Module::attr(std::string_view name) const { return object_.object_ref().attribute(name); }

void Module::setattr(std::string_view name, Value value) const {
  Object& object = object_.object_ref();
  const auto slot = object.type->find_attribute(name);
  if (!slot) return object.set_attribute(name, std::move(value));  // says that there is none
  value = api::convert(value, object.type->attributes()[*slot].type);
  object.set_attribute(name, std::move(value));
  model_->methods.attribute_set(object_, *slot);
}

std::vector<std::pair<std::string, Value>> Module::named_attributes() const {
  std::vector<std::pair<std::string, Value>> result;
  const Object& object = object_.object_ref();
  for (size_t i = 0; i < object.slots.size(); ++i) {
    result.emplace_back(object.type->attributes()[i].name, object.slots[i]);
  }
  return result;
}

Module Module::submodule(std::string_view path) const {
  Module at = *this;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (!at.hasattr(name) || !is_module(at.attr(name))) {
      fail(ErrorCode::kNotFound,
           "the module " + at.type_name() + " has no submodule '" + std::string(name) + "'");
    }
    at = Module(model_, at.attr(name));
  }
  return at;
}

std::vector<std::pair<std::string, Module>> Module::named_children() const {
  std::vector<std::pair<std::string, Module>> result;
  for (auto& [name, value] : named_attributes()) {
    if (is_module(value)) result.emplace_back(name, Module(model_, value));
  }
  return result;
}

std::vector<std::pair<std::string, Tensor>> Module::named_parameters() const {
  return tensors_of(object_, ClassType::AttributeKind::kParameter);
}

std::vector<std::pair<std::string, Tensor>> Module::named_buffers() const {
  return tensors_of(object_, ClassType::AttributeKind::kBuffer);
}

Module Module::deepcopy() const {
  const LimitScope scope = model_->program->limits->scope();
  return Module(std::make_shared<LoadedModel>(model_->program), api::deep_copy(object_));
}

std::vector<Placement> Module::placement() const { return model_->methods.placement().all(); }

const ModelInfo& Module::info() const { return model_->program->info; }

std::map<std::string, std::string> Module::extra_files() const {
  const LimitScope scope = model_->program->limits->scope();
  return model_->program->read_extra_files();
}

const std::vector<UnsupportedOperator>& Module::unsupported_operators() const {
  return model_->program->survey.unsupported;
}

const std::vector<std::pair<std::string, size_t>>& Module::operators() const {
  return model_->program->survey.operators;
}

}  // namespace torchlet
