#include "api/object_factory.h"

#include "archive/reader.h"
#include "base/error.h"
#include "base/selection.h"
#include "graph/operator.h"
#include "tensor/containers.h"

namespace torchlet::api {
namespace {

Value build_custom(const std::string& name, const Value& state) {
  const CustomClass* found = find_custom_class(name);
  if (!found) {
    fail(ErrorCode::kUnsupported,
         "the model holds an object of the C++ class " + name.substr(0, 200) +
             (selection::kIsWhole
                  ? ", which Torchlet does not have; save the model without it"
                  : ", which this libtorchlet was built without (TORCHLET_OPERATORS)"));
  }
  return found->set_state(state);
}

void set_attributes(Object& object, const Value& state) {
  const ClassType& type = *object.type;
  if (!state.is_dict()) {
    fail(ErrorCode::kFileFormat, "the state of a %s is %s and not a dict", type.name().c_str(),
         state.kind_name());
  }
  for (const ClassType::Attribute& attribute : type.attributes()) {
    const Value* value = state.dict_ref().find(Value(attribute.name));
    try {
      if (!value) fail(ErrorCode::kFileFormat, "the file gives it no value");
      archive::conform(*value, attribute.type);
    } catch (Error& error) {
      error.add_context("in the attribute '" + attribute.name + "' of " + type.name());
      throw;
    }
    object.set_attribute(attribute.name, *value);
  }
}

}  // namespace

TypePtr ModelObjectFactory::parse_type(std::string_view text) {
  return unit_.parse_type(record_, std::string(text));
}

TypePtr ModelObjectFactory::resolve_class(const std::string& qualified_name) {
  return unit_.find_type(qualified_name);
}

Value ModelObjectFactory::build_object(const TypePtr& type, Value state) {
  if (script::is_custom_class(*type)) return build_custom(type->name(), state);
  if (!type->is(TypeKind::kClass)) {
    fail(ErrorCode::kFileFormat, "there are no objects of type " + type->str().substr(0, 200));
  }
  const auto class_type = std::static_pointer_cast<const ClassType>(type);
  Function* const set_state = class_type->find_method("__setstate__");
  if (bytecode_ && !set_state) bytecode_->learn_attributes(*class_type, state);
  Value object(make_ref<Object>(class_type));
  if (set_state) {
    if (set_state->schema().arguments.size() != 2) {
      fail(ErrorCode::kFileFormat, class_type->name() + ".__setstate__ must take one argument");
    }
    archive::conform(state, set_state->schema().arguments[1].type);
    interpreter_.run(*set_state, {object, std::move(state)});
  } else {
    set_attributes(object.object_ref(), state);
  }
  return object;
}

Value ModelObjectFactory::build_enum(const TypePtr& type, const Value& value) {
  for (const auto& [name, held] : type->as_enum()->members()) {
    if (values_equal(held, value)) return Value(make_ref<EnumValue>(type, name, held));
  }
  fail(ErrorCode::kFileFormat,
       type->name() + " has no member with the value " + to_text(value).substr(0, 100));
}

}  // namespace torchlet::api
