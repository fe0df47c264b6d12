#include "prepare/draft.h"

#include <torchlet/torchlet.h>

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "prepare/saved_model.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

// Schemas of methods that only have a graph.
Schema schema_of(const std::string& name, const Graph& graph) {
  Schema schema;
  schema.name = name;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    Argument& argument = schema.arguments.emplace_back();
    const std::string& hint = graph.inputs()[i]->name();
    argument.name = i == 0 ? "self" : hint.empty() ? "argument_" + std::to_string(i) : hint;
    argument.type = graph.inputs()[i]->type();
  }
  for (const SsaValue* output : graph.outputs()) {
    schema.returns.emplace_back().type = output->type();
  }
  return schema;
}

// Calls visit(type) for the class of each object that the value holds.
template <typename Visit>
void for_each_class(const Value& root, const Visit& visit) {
  std::unordered_set<const void*> seen;
  std::vector<Value> open = {root};
  const auto add = [&](const void* identity, const std::vector<Value>& items) {
    if (seen.insert(identity).second) open.insert(open.end(), items.begin(), items.end());
  };
  while (!open.empty()) {
    const Value value = std::move(open.back());
    open.pop_back();
    if (value.is_object()) {
      visit(*value.object_ref().type);
      add(&value.object_ref(), value.object_ref().slots);
    } else if (value.is_list()) {
      add(&value.list_ref(), value.list_ref().items);
    } else if (value.is_tuple()) {
      add(&value.tuple_ref(), value.tuple_ref().items);
    } else if (value.is_dict()) {
      std::vector<Value> items;
      for (const auto& [key, item] : value.dict_ref().items()) items.push_back(item);
      add(&value.dict_ref(), items);
    }
  }
}

// Objects of a class that is no longer theirs cannot be written.
void refuse_others_of(const ClassType& type, const Value& root) {
  for_each_class(root, [&](const ClassType& other) {
    if (&other != &type) return;
    fail(ErrorCode::kUnsupported,
         "the model holds another object of its own class " + type.name() +
             ", so its methods cannot be changed; wrap it in a module of another class");
  });
}

}  // namespace

class Draft::GivenMethod final : public Function {
 public:
  GivenMethod(std::string qualified_name, Schema schema, std::unique_ptr<Graph> graph)
      : name_(std::move(qualified_name)), schema_(std::move(schema)), graph_(std::move(graph)) {}
  const std::string& qualified_name() const override { return name_; }
  const Schema& schema() override { return schema_; }
  const Graph& graph() override { return *graph_; }

 private:
  const std::string name_;
  const Schema schema_;
  const std::unique_ptr<Graph> graph_;
};

Draft::Draft(const Module& module)
    : model_(LoadedModel::handle_of(module)),
      original_(LoadedModel::object_of(module).object_ref().type),
      attributes_(original_->attributes()),
      values_(LoadedModel::object_of(module).object_ref().slots),
      methods_(original_->methods()) {}

Draft::~Draft() = default;

void Draft::set_method(const std::string& name, std::unique_ptr<Graph> graph) {
  auto method = std::ranges::find(methods_, name, &std::pair<std::string, Function*>::first);
  const bool is_new = method == methods_.end();
  Schema schema = is_new ? schema_of(name, *graph) : method->second->schema();
  given_.push_back(std::make_unique<GivenMethod>(original_->name() + "." + name, std::move(schema),
                                                 std::move(graph)));
  if (is_new) method = methods_.emplace(methods_.end(), name, nullptr);
  method->second = given_.back().get();
}

void Draft::set_attribute(const std::string& name, TypePtr type, Value value) {
  const auto found = std::ranges::find(attributes_, name, &ClassType::Attribute::name);
  if (found == attributes_.end()) {
    attributes_.push_back({name, std::move(type), ClassType::AttributeKind::kRegular});
    values_.push_back(std::move(value));
  } else {
    found->type = std::move(type);
    values_[static_cast<size_t>(found - attributes_.begin())] = std::move(value);
  }
}

void Draft::remove_attribute(const std::string& name) {
  const auto found = std::ranges::find(attributes_, name, &ClassType::Attribute::name);
  if (found == attributes_.end()) return;
  values_.erase(values_.begin() + (found - attributes_.begin()));
  attributes_.erase(found);
}

void Draft::remove_method(const std::string& name) {
  std::erase_if(methods_, [&](const auto& method) { return method.first == name; });
}

Value Draft::root() const {
  auto type =
      std::make_shared<ClassType>(TypeKind::kClass, original_->name(), original_->is_module());
  for (const ClassType::Attribute& attribute : attributes_) type->add_attribute(attribute);
  for (const auto& [name, value] : original_->constants()) type->add_constant(name, value);
  for (const auto& [name, method] : methods_) type->add_method(name, method);
  const auto without_removed = [&](std::vector<std::string> hooks) {
    std::erase_if(hooks, [&](const std::string& hook) { return !type->find_method(hook); });
    return hooks;
  };
  type->forward_pre_hooks = without_removed(original_->forward_pre_hooks);
  type->forward_hooks = without_removed(original_->forward_hooks);
  Ref<Object> object = make_ref<Object>(std::move(type));
  object->slots = values_;
  const Value root(std::move(object));
  refuse_others_of(*original_, root);
  return root;
}

bool Draft::holds_class(std::string_view name) const {
  bool holds = false;
  for (const Value& value : values_) {
    for_each_class(value, [&](const ClassType& type) { holds |= type.name() == name; });
  }
  return holds;
}

Module Draft::finish() const {
  const LimitScope scope = program().limits->scope();
  MemorySink bytes;
  write_archive(model_with_source(program(), root(), source_), bytes);
  Module module = load(bytes.bytes(), program().options);
  // Its file is still the one that must not be written to.
  LoadedProgram& loaded = *LoadedModel::handle_of(module)->program;
  loaded.info.file = program().info.file;
  loaded.read_extra_files = program().read_extra_files;
  return module;
}

}  // namespace torchlet::prepare
