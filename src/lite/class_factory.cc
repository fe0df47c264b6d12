#include "lite/class_factory.h"

#include <algorithm>

#include "base/error.h"
#include "graph/operator.h"
#include "script/type_parser.h"

namespace torchlet::lite {
namespace {

constexpr std::string_view kSetState = ".__setstate__";

}  // namespace

bool is_custom_class_name(std::string_view qualified_name) {
  return qualified_name.starts_with("__torch__.torch.classes.");
}

Value make_custom_object(const std::string& class_name, const Value& state) {
  const CustomClass* found = find_custom_class(class_name);
  if (!found) {
    fail(ErrorCode::kUnsupported, "the model holds an object of the C++ class " +
                                      class_name.substr(0, 200) +
                                      ", which Torchlet does not have; save the model without it");
  }
  return found->set_state(state);
}

void ClassFactory::set_functions(const Bytecode& bytecode) {
  for (const BytecodeFunction& function : bytecode.functions) {
    const std::string& name = function.name;
    if (!name.ends_with(kSetState)) continue;
    with_set_state_.insert(name.substr(0, name.size() - kSetState.size()));
  }
}

void ClassFactory::finish() {
  for (auto& [name, made] : classes_) {
    for (Field& field : made.fields) {
      TypePtr type = types::unknown();
      if (field.type && may_hold(made, *field.type)) {
        type = field.may_be_none ? types::optional(field.type) : field.type;
      }
      made.type->add_attribute({std::move(field.name), std::move(type)});
    }
    made.fields.clear();
  }
}

// Types own each other and a circle of them would never go, so a class holds only those whose first
// objects were there before its own.
bool ClassFactory::may_hold(const Class& holder, const Type& type) const {
  const auto held = type.as_class() ? classes_.find(type.name()) : classes_.end();
  if (held != classes_.end() && held->second.order >= holder.order) return false;
  return std::ranges::all_of(type.elements(),
                             [&](const TypePtr& part) { return may_hold(holder, *part); });
}

TypePtr ClassFactory::parse_type(std::string_view text) {
  return script::parse_type("the bytecode", text,
                            [this](const std::string& name) { return resolve_class(name); });
}

TypePtr ClassFactory::resolve_class(const std::string& qualified_name) {
  if (!qualified_name.starts_with("__torch__.")) return nullptr;
  Class& made = classes_[qualified_name];
  if (!made.type) {
    made.type = std::make_shared<ClassType>(TypeKind::kClass, qualified_name,
                                            !is_custom_class_name(qualified_name));
  }
  return made.type;
}

Value ClassFactory::build_object(const TypePtr& type, Value state) {
  if (is_custom_class_name(type->name())) return make_custom_object(type->name(), state);
  Class& made = classes_.at(type->name());
  const auto object = make_ref<Object>(made.type);
  if (with_set_state_.contains(type->name())) {
    waiting_.push_back({object, std::move(state)});
  } else {
    set_fields(made, *object, state);
  }
  return Value(object);
}

void ClassFactory::set_fields(Class& made, Object& object, const Value& state) {
  if (!state.is_dict()) {
    fail(ErrorCode::kFileFormat, "the state of a %s is %s and not a dict",
         made.type->name().c_str(), state.kind_name());
  }
  const std::vector<std::pair<Value, Value>> attributes = state.dict_ref().items();
  const bool is_first = made.order == 0;
  if (is_first) {
    made.order = ++num_ordered_;
    made.fields.resize(attributes.size());
  }
  const auto check = [&](bool fits) {
    if (!fits) {
      fail(ErrorCode::kFileFormat, "the attributes of two objects of %s differ",
           made.type->name().c_str());
    }
  };
  check(attributes.size() == made.fields.size());
  for (size_t i = 0; i < attributes.size(); ++i) {
    const auto& [name, value] = attributes[i];
    Field& field = made.fields[i];
    check(name.is_string());
    if (is_first) field.name = name.to_string();
    check(name.to_string() == field.name);
    see(field, value);
    object.slots.push_back(value);
  }
}

void ClassFactory::see(Field& field, const Value& value) {
  if (value.is_none()) {
    field.may_be_none = true;
    return;
  }
  const TypePtr type = type_of_value(value);
  if (!field.type) {
    field.type = type;
  } else if (!equal(field.type, type)) {
    field.type = types::unknown();
  }
}

TypePtr ClassFactory::type_of_value(const Value& value) {
  if (!value.is_tuple()) return type_of(value);
  TypePtr& type = tuple_types_[value.raw_int()];
  if (!type) type = type_of(value);
  return type;
}

}  // namespace torchlet::lite
