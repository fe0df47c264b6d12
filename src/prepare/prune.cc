#include "prepare/prune.h"

#include "api/loaded_model.h"
#include "tensor/containers.h"

namespace torchlet::prepare {

std::unordered_set<std::string> prune(
    Draft& draft, const Module& module, UsedAttributes& used,
    const std::function<bool(const std::string& name, const Value& value)>& stays) {
  // "__torch__.m.___torch_mangle_3.Net", as PyTorch names classes of the same name.
  size_t next = 0;
  const auto new_name = [&](const std::string& name) {
    const size_t dot = name.rfind('.');
    const std::string package = name.substr(0, dot), own = name.substr(dot + 1);
    script::CompilationUnit& unit = LoadedModel::of(module).program->unit;
    while (true) {
      std::string candidate = package + ".___torch_mangle_" + std::to_string(next++) + "." + own;
      if (!unit.find_type(candidate)) return candidate;
    }
  };
  const Value root = LoadedModel::object_of(module);
  const Object& object = root.object_ref();
  std::unordered_set<std::string> left;
  for (size_t i = 0; i < object.slots.size(); ++i) {
    const std::string& name = object.type->attributes()[i].name;
    const bool whole = used.uses_all_of_self() || stays(name, object.slots[i]);
    if (!whole && !used.uses({&object, i})) {
      draft.remove_attribute(name);
      continue;
    }
    left.insert(name);
    if (whole || !object.slots[i].is_object()) continue;
    const Value value = used.pruned(object.slots[i], new_name);
    if (!value.is_same(object.slots[i])) {
      draft.set_attribute(name, value.object_ref().type, value);
    }
  }
  return left;
}

}  // namespace torchlet::prepare
