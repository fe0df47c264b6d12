// Python's dict methods; a dict keeps the order of insertion.
#include "ops/core/op.h"

#define TORCHLET_KEYS per_type("str int bool float complex Tensor")

namespace torchlet::ops {
namespace {

using DictRef = const Ref<Dict>&;

const Value& at(DictRef dict, const Value& key) {
  const Value* found = dict->find(key);
  if (!found) fail(ErrorCode::kRuntime, "KeyError: " + to_text(key));
  return *found;
}

Value taken(DictRef dict, const Value& key) {
  Value value = at(dict, key);
  dict->erase(key);
  return value;
}

Value copy_of(DictRef dict) {
  auto copy = make_ref<Dict>(dict->key_type, dict->value_type);
  for (auto& [key, value] : dict->items()) copy->set(key, value);
  return Value(std::move(copy));
}

Value pair_of(const Value& key, const Value& value) { return Value::tuple({key, value}); }

void update(DictRef self, DictRef other) {
  for (auto& [key, value] : other->items()) self->set(key, value);
}

}  // namespace

TORCHLET_OP_WITH(dict_len, TORCHLET_KEYS | never_raises(),
                 "aten::len.Dict_$(Dict($, t) self) -> int",
                 [](DictRef self) { return static_cast<int64_t>(self->size()); });
TORCHLET_OP_WITH(dict_getitem, TORCHLET_KEYS,
                 "aten::__getitem__.Dict_$(Dict($, t) self, $ key) -> t(*)",
                 [](DictRef self, const Value& key) { return at(self, key); });
TORCHLET_OP_WITH(dict_set_item, TORCHLET_KEYS,
                 "aten::_set_item.$(Dict($, t)(a!) l, $(b -> *) idx, t(c -> *) v) -> ()",
                 [](DictRef self, const Value& key, const Value& value) { self->set(key, value); });
TORCHLET_OP_WITH(dict_contains, TORCHLET_KEYS,
                 "aten::__contains__.$(Dict($, t) dict, $ key) -> bool",
                 [](DictRef self, const Value& key) { return self->find(key) != nullptr; });
TORCHLET_OP_WITH(dict_keys, TORCHLET_KEYS, "aten::keys.$(Dict($, t) self) -> $[](*)",
                 [](DictRef self) {
                   std::vector<Value> keys;
                   for (const auto& [key, value] : self->items()) keys.push_back(key);
                   return make_list(self->key_type, std::move(keys));
                 });
TORCHLET_OP_WITH(dict_values, TORCHLET_KEYS, "aten::values.$(Dict($, t) self) -> t[](*)",
                 [](DictRef self) {
                   std::vector<Value> values;
                   for (const auto& [key, value] : self->items()) values.push_back(value);
                   return make_list(self->value_type, std::move(values));
                 });
TORCHLET_OP_WITH(
    dict_items, TORCHLET_KEYS, "aten::items.$(Dict($, t) self) -> (($, t)[])", [](DictRef self) {
      std::vector<Value> pairs;
      for (const auto& [key, value] : self->items()) pairs.push_back(pair_of(key, value));
      return make_list(types::tuple({self->key_type, self->value_type}), std::move(pairs));
    });
TORCHLET_OP_WITH(dict_get, TORCHLET_KEYS, "aten::get.$(Dict($, t) self, $ key) -> t(*)?",
                 [](DictRef self, const Value& key) {
                   const Value* found = self->find(key);
                   return found ? *found : Value();
                 });
TORCHLET_OP_WITH(dict_get_default, TORCHLET_KEYS,
                 "aten::get.default_$(Dict($, t) self, $ key, t default_value) -> t(*)",
                 [](DictRef self, const Value& key, const Value& missing) {
                   const Value* found = self->find(key);
                   return found ? *found : missing;
                 });
TORCHLET_OP_WITH(
    dict_setdefault, TORCHLET_KEYS,
    "aten::setdefault.$(Dict($, t)(a!) self, $(b -> *) key, t(c -> *) default_value) -> t(*)",
    [](DictRef self, const Value& key, const Value& missing) {
      if (!self->find(key)) self->set(key, missing);
      return *self->find(key);
    });
TORCHLET_OP_WITH(dict_pop, TORCHLET_KEYS, "aten::pop.Dict_$(Dict($, t)(a!) self, $ key) -> t(*)",
                 taken);
TORCHLET_OP_WITH(dict_pop_default, TORCHLET_KEYS,
                 "aten::pop.Dict_default_$(Dict($, t)(a!) self, $ key, t default_value) -> t(*)",
                 [](DictRef self, const Value& key, const Value& missing) {
                   return self->find(key) ? taken(self, key) : missing;
                 });
TORCHLET_OP_WITH(dict_popitem, TORCHLET_KEYS, "aten::popitem.$(Dict($, t)(a!) self) -> (($, t))",
                 [](DictRef self) {
                   TORCHLET_CHECK(self->size() > 0, "popitem(): dictionary is empty");
                   // Unlike Python's, the first pair.
                   const auto first = self->items().front();
                   self->erase(first.first);
                   return pair_of(first.first, first.second);
                 });
TORCHLET_OP_WITH(dict_delete, TORCHLET_KEYS,
                 "aten::Delete.Dict_$(Dict($, t)(a!) self, $ key) -> ()",
                 [](DictRef self, const Value& key) { taken(self, key); });
TORCHLET_OP_WITH(dict_clear, TORCHLET_KEYS, "aten::clear.$(Dict($, t)(a!) self) -> ()",
                 [](DictRef self) { self->clear(); });
TORCHLET_OP_WITH(dict_update, TORCHLET_KEYS,
                 "aten::update.$(Dict($, t)(a!) self, Dict($, t)(a!) to_add) -> ()", update);
TORCHLET_OP_WITH(dict_copy, TORCHLET_KEYS, "aten::copy.Dict_$(Dict($, t)(a) self) -> Dict($, t)",
                 copy_of);
TORCHLET_OP_WITH(dict_of_dict, TORCHLET_KEYS, "aten::dict.Dict_$(Dict($, t)(a) self) -> Dict($, t)",
                 copy_of);
TORCHLET_OP_WITH(dict_of_pairs, TORCHLET_KEYS, "aten::dict.$(($, tVal)[] inputs) -> Dict($, tVal)",
                 [](const Ref<List>& pairs) {
                   const bool typed = pairs->element_type->is(TypeKind::kTuple);
                   auto dict =
                       make_ref<Dict>(typed ? pairs->element_type->element(0) : types::string(),
                                      typed ? pairs->element_type->element(1) : types::tensor());
                   for (const Value& pair : pairs->items) {
                     const std::vector<Value>& items = pair.tuple_ref().items;
                     TORCHLET_CHECK(items.size() == 2, "a pair has %zu items", items.size());
                     dict->set(items[0], items[1]);
                   }
                   return Value(std::move(dict));
                 });
TORCHLET_OP_WITH(dict_empty, never_raises(), "aten::dict() -> Dict(str, Tensor)",
                 [] { return Value(make_ref<Dict>(types::string(), types::tensor())); });

}  // namespace torchlet::ops
