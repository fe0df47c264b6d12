#include "passes/analysis/read_write_sets.h"

#include <algorithm>
#include <unordered_set>

#include "base/selection.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {

std::vector<const void*> memory_of(const Value& value) {
  std::vector<const void*> found;
  std::unordered_set<const void*> seen;
  std::vector<Value> open = {value};
  auto visit = [&](const void* address, const std::vector<Value>& parts) {
    if (!seen.insert(address).second) return;
    found.push_back(address);
    open.insert(open.end(), parts.begin(), parts.end());
  };
  while (!open.empty()) {
    const Value at = std::move(open.back());
    open.pop_back();
    if (at.is_tensor()) {
      const TensorImpl& tensor = *at.tensor_impl();
      if (tensor.sparse) open.push_back(tensor.sparse->values);
      visit(tensor.storage ? static_cast<const void*>(tensor.storage.get()) : &tensor, {});
    } else if (at.is_list()) {
      visit(&at.list_ref(), at.list_ref().items);
    } else if (at.is_tuple()) {
      visit(&at.tuple_ref(), at.tuple_ref().items);
    } else if (at.is_object()) {
      visit(&at.object_ref(), at.object_ref().slots);
    } else if (at.is_dict()) {
      std::vector<Value> parts;
      for (const auto& [key, item] : at.dict_ref().items()) parts.push_back(item);
      visit(&at.dict_ref(), parts);
    }
  }
  return found;
}

bool WriteSet::empty() const {
  return !all && !unknown && slots.empty() && names.empty() && memory.empty() && exposed.empty();
}

void WriteSet::merge(const WriteSet& other) {
  all = all || other.all;
  unknown = unknown || other.unknown;
  slots.insert(other.slots.begin(), other.slots.end());
  names.insert(other.names.begin(), other.names.end());
  memory.insert(other.memory.begin(), other.memory.end());
  exposed.insert(other.exposed.begin(), other.exposed.end());
}

bool WriteSet::writes(const Slot& slot) const {
  return all || slots.contains(slot) ||
         (!names.empty() && names.contains(slot.first->type->attributes()[slot.second].name));
}

bool WriteSet::writes(const void* address) const {
  return all || memory.contains(address) || (unknown && exposed.contains(address));
}

bool ReadSet::conflicts(const WriteSet& writes) const {
  return std::ranges::any_of(slots, [&](const Slot& slot) { return writes.writes(slot); }) ||
         std::ranges::any_of(memory, [&](const void* address) { return writes.writes(address); });
}

std::optional<Slot> KnownObjects::slot(const Node& node) {
  const auto holder = known(node.input(0));
  if (!holder || !holder->is_object()) return std::nullopt;
  const Object& object = holder->object_ref();
  const auto index = object.type->find_attribute(node.string_attribute("name"));
  if (!index || *index >= object.slots.size()) return std::nullopt;
  return Slot(&object, *index);
}

std::optional<Value> KnownObjects::known(const SsaValue* value) {
  static const Symbol kGetItem("aten::__getitem__");
  const Node& node = *value->node();
  if (const Value* constant = constant_of(value)) return *constant;
  const auto& inputs = node.graph()->inputs();
  if (!inputs.empty() && value == inputs[0]) return self_;
  if (const auto found = known_values_.find(value); found != known_values_.end()) {
    return found->second;
  }
  if (selection::has_operator("aten::__getitem__") && node.kind() == kGetItem) {
    const auto holder = known(node.input(0));
    const Value* key = constant_of(node.input(1));
    if (!holder || !holder->is_dict() || !key) return std::nullopt;
    const Dict& dict = holder->dict_ref();
    const Value* item = dict.find(*key);
    if (!item || writes_.writes(&dict)) return std::nullopt;
    reads_.memory.insert(&dict);
    return known_values_[value] = *item;
  }
  std::optional<Slot> read;
  if (node.kind() == prim::kGetAttr) {
    read = slot(node);
  } else if (node.kind() == prim::kModuleContainerIndex) {
    const auto holder = known(node.input(0));
    const Value* key = constant_of(node.input(1));
    if (!holder || !holder->is_object() || !key || !(key->is_string() || key->is_int())) {
      return std::nullopt;
    }
    const Object& object = holder->object_ref();
    const auto index = object.type->find_attribute(
        key->is_string() ? key->to_string() : std::to_string(key->to_int()));
    if (index && *index < object.slots.size()) read = Slot(&object, *index);
  }
  const auto found = read ? held(*read) : std::nullopt;
  if (found) known_values_[value] = *found;
  return found;
}

std::optional<Value> KnownObjects::held(const Slot& slot) {
  if (writes_.writes(slot)) return std::nullopt;
  reads_.slots.insert(slot);
  return slot.first->slots[slot.second];
}

}  // namespace torchlet::passes
