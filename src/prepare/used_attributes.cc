#include "prepare/used_attributes.h"

#include <algorithm>

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "tensor/containers.h"

namespace torchlet::prepare {

namespace {

// Is `object` what the method is called on, and no argument?
bool calls_one_of(const Node& node, const SsaValue& object,
                  const std::unordered_set<const Function*>& methods) {
  return node.kind() == prim::kCallMethod && node.has_attribute("function") &&
         methods.contains(node.function_attribute("function")) &&
         std::ranges::count(node.inputs(), &object) == 1 && node.input(0) == &object;
}

}  // namespace

void UsedAttributes::use_whole(const Value& value) {
  for (const void* part : passes::memory_of(value)) whole_.insert(part);
}

// Of a value that is this object in each run.
void UsedAttributes::use(const SsaValue& value, const Value& object, passes::KnownObjects& objects,
                         const std::unordered_set<const Function*>& kept) {
  for (const Node* user : value.users()) {
    if (object.is_same(self_) && calls_one_of(*user, value, kept)) continue;
    const bool is_access = (user->kind() == prim::kGetAttr || user->kind() == prim::kSetAttr ||
                            user->kind() == prim::kModuleContainerIndex) &&
                           user->input(0) == &value;
    if (!is_access || (user->inputs().size() == 2 && user->input(1) == &value)) {
      use_whole(object);
      continue;
    }
    if (user->kind() == prim::kModuleContainerIndex) {
      // Of a constant key; else any of them.
      const auto item = objects.known(user->output());
      if (!item) {
        use_whole(object);
        continue;
      }
      const auto& held = object.object_ref().slots;
      for (size_t i = 0; i < held.size(); ++i) {
        if (held[i].is_same(*item)) slots_.insert({&object.object_ref(), i});
      }
      continue;
    }
    const auto slot = objects.slot(*user);
    if (!slot) {
      use_whole(object);
      continue;
    }
    slots_.insert(*slot);
    const Value& held = slot->first->slots[slot->second];
    // What is there when the method runs may be another object than now.
    if (!held.is_object() || writes_.writes(*slot)) use_whole(held);
  }
}

void UsedAttributes::add(const Graph& graph, const std::unordered_set<const Function*>& kept) {
  passes::KnownObjects objects(self_, writes_);
  const auto look_at = [&](const SsaValue* value) {
    const auto known = objects.known(value);
    if (known && known->is_object()) use(*value, *known, objects, kept);
  };
  if (!graph.inputs().empty()) look_at(graph.inputs()[0]);
  passes::for_each_node(*graph.block(), [&](const Node& node) {
    for (const SsaValue* output : node.outputs()) look_at(output);
  });
}

bool UsedAttributes::uses(const passes::Slot& slot) const {
  return whole_.contains(slot.first) || slots_.contains(slot);
}

Value UsedAttributes::pruned(const Value& value,
                             const std::function<std::string(const std::string&)>& new_name) {
  if (!value.is_object() || whole_.contains(&value.object_ref())) return value;
  const auto [found, is_new] = made_.try_emplace(&value.object_ref());
  if (is_new) {
    const Value made = pruned_object(value, new_name);
    return made_[&value.object_ref()] = made;
  }
  if (!found->second.is_none()) return found->second;
  fail(ErrorCode::kUnsupported, "an object of class " + value.object_ref().type->name() +
                                    " holds itself; optimize without the pass 'freeze'");
}

Value UsedAttributes::pruned_object(
    const Value& value, const std::function<std::string(const std::string&)>& new_name) {
  const DepthGuard guard;
  const Object& object = value.object_ref();
  const ClassType& old = *object.type;
  auto type = std::make_shared<ClassType>(TypeKind::kClass, new_name(old.name()), old.is_module());
  std::vector<Value> slots;
  bool is_same = old.methods().empty();
  for (size_t i = 0; i < object.slots.size(); ++i) {
    if (!slots_.contains({&object, i})) {
      is_same = false;
      continue;
    }
    ClassType::Attribute attribute = old.attributes()[i];
    slots.push_back(pruned(object.slots[i], new_name));
    if (!slots.back().is_same(object.slots[i])) {
      attribute.type = slots.back().object_ref().type;
      is_same = false;
    }
    type->add_attribute(std::move(attribute));
  }
  if (is_same) return value;
  auto made = make_ref<Object>(std::move(type));
  made->slots = std::move(slots);
  return Value(std::move(made));
}

}  // namespace torchlet::prepare
