#include "prepare/training_mode.h"

#include <functional>
#include <unordered_set>

#include "api/deep_copy.h"
#include "api/loaded_model.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

// Calls visit(path, object) for the module and all below it, each once, until it gives true.
void for_each_module(const Value& root,
                     const std::function<bool(const std::string&, Object&)>& visit) {
  std::unordered_set<const Object*> seen;
  std::vector<std::pair<std::string, Value>> open = {{"", root}};
  while (!open.empty()) {
    const auto [path, value] = std::move(open.back());
    open.pop_back();
    Object& object = value.object_ref();
    if (!object.type->is_module() || !seen.insert(&object).second) continue;
    if (visit(path, object)) return;
    for (size_t i = object.slots.size(); i-- > 0;) {
      if (!object.slots[i].is_object()) continue;
      const std::string& name = object.type->attributes()[i].name;
      open.emplace_back(path.empty() ? name : path + "." + name, object.slots[i]);
    }
  }
}

bool is_training(const Object& object) {
  const auto slot = object.type->find_attribute("training");
  return slot && object.slots[*slot].is_bool() && object.slots[*slot].to_bool();
}

}  // namespace

Module working_copy(const Module& module, bool eval) {
  const auto& handle = LoadedModel::handle_of(module);
  const Value copy = api::detached_copy(LoadedModel::object_of(module));
  if (eval) {
    for_each_module(copy, [](const std::string&, Object& object) {
      if (is_training(object)) object.set_attribute("training", Value(false));
      return false;
    });
  }
  return LoadedModel::root(std::make_shared<LoadedModel>(handle->program), copy);
}

std::optional<std::string> module_in_training(const Module& module) {
  std::optional<std::string> found;
  for_each_module(LoadedModel::object_of(module), [&](const std::string& path, Object& object) {
    if (is_training(object)) found = path;
    return found.has_value();
  });
  return found;
}

}  // namespace torchlet::prepare
