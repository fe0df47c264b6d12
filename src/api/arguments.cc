#include "api/arguments.h"

#include "base/error.h"
#include "base/small_vector.h"
#include "tensor/containers.h"
#include "tensor/scalar.h"

namespace torchlet::api {
namespace {

[[noreturn]] void refuse(const Value& value, const Type& type) {
  fail(ErrorCode::kInvalidArgument,
       "expected a value of type '" + type.str() + "', got " + std::string(value.kind_name()));
}

bool is_sequence(const Value& value) { return value.is_list() || value.is_tuple(); }

const std::vector<Value>& items_of(const Value& sequence) {
  return sequence.is_list() ? sequence.list_ref().items : sequence.tuple_ref().items;
}

Value convert_list(const Value& value, const Type& type) {
  if (!is_sequence(value)) refuse(value, type);
  const TypePtr& element = type.element(0);
  std::vector<Value> items;
  for (const Value& item : items_of(value)) items.push_back(convert(item, element));
  return make_list(element, std::move(items));
}

Value convert_tuple(const Value& value, const TypePtr& type) {
  if (!is_sequence(value) || items_of(value).size() != type->elements().size()) {
    refuse(value, *type);
  }
  std::vector<Value> items;
  for (const Value& item : items_of(value)) {
    items.push_back(convert(item, type->element(items.size())));
  }
  return Value(make_ref<Tuple>(std::move(items), type->name().empty() ? nullptr : type));
}

Value convert_dict(const Value& value, const Type& type) {
  if (!value.is_dict()) refuse(value, type);
  auto dict = make_ref<Dict>(type.element(0), type.element(1));
  for (const auto& [key, item] : value.dict_ref().items()) {
    dict->set(convert(key, type.element(0)), convert(item, type.element(1)));
  }
  return Value(std::move(dict));
}

Value convert_enum(const Value& value, const TypePtr& type) {
  if (value.is_enum() && equal(value.enum_ref().type, type)) return value;
  for (const auto& [name, held] : type->as_enum()->members()) {
    if (values_equal(held, value)) return Value(make_ref<EnumValue>(type, name, held));
  }
  refuse(value, *type);
}

Value convert_union(const Value& value, const Type& type) {
  for (const TypePtr& member : type.elements()) {
    if (is_instance(value, *member)) return value;
  }
  for (const TypePtr& member : type.elements()) {
    try {
      return convert(value, member);
    } catch (const Error&) {
      // Perhaps the next member takes it.
    }
  }
  refuse(value, type);
}

// A number of the wanted kind from a number or a tensor that holds one.
Value convert_number(const Value& value, const Type& type) {
  const bool one_element = value.is_tensor() && value.to_tensor().numel() == 1;
  const Value number = one_element ? Value(scalar_of(value.to_tensor())) : value;
  if (type.is(TypeKind::kFloat) && (number.is_float() || number.is_int() || number.is_bool())) {
    return Value(number.to_double());
  }
  if (type.is(TypeKind::kInt) && (number.is_int() || number.is_bool())) {
    return Value(number.to_int());
  }
  if (type.is(TypeKind::kComplex) && number.is_scalar()) return Value(number.to_complex());
  if (type.is(TypeKind::kBool) && number.is_bool()) return number;
  if (type.is(TypeKind::kNumber) && number.is_scalar()) return number;
  refuse(value, type);
}

}  // namespace

Value convert(const Value& value, const TypePtr& type) {
  switch (type->kind()) {
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kComplex:
    case TypeKind::kBool:
    case TypeKind::kNumber:
      return convert_number(value, *type);
    case TypeKind::kOptional:
      return value.is_none() ? value : convert(value, type->element(0));
    case TypeKind::kUnion:
      return convert_union(value, *type);
    case TypeKind::kList:
      return convert_list(value, *type);
    case TypeKind::kTuple:
      return convert_tuple(value, type);
    case TypeKind::kDict:
      return convert_dict(value, *type);
    case TypeKind::kEnum:
      return convert_enum(value, type);
    case TypeKind::kDevice:
      return value.is_string() ? Value::device(value.to_string()) : value;
    case TypeKind::kInterface:
      if (!value.is_object()) refuse(value, *type);
      return value;
    default:
      if (!is_instance(value, *type)) refuse(value, *type);
      return value;
  }
}

namespace {

Value convert_argument(const Value& value, const Argument& argument, const Schema& schema) {
  try {
    return convert(value, argument.type);
  } catch (Error& error) {
    error.add_context("for the argument '" + argument.name + "' of " + schema.name + "()");
    throw;
  }
}

}  // namespace

void bind_arguments(const Schema& schema, const Value& self, std::span<const Value> arguments,
                    const Kwargs& kwargs, std::vector<Value>& bound) {
  const auto& declared = schema.arguments;
  if (arguments.size() + 1 > declared.size()) {
    fail(ErrorCode::kInvalidArgument,
         "%s() expected at most %zu argument(s) but received %zu argument(s)", schema.name.c_str(),
         declared.size() - 1, arguments.size());
  }
  SmallVector<const Value*, 8> given(declared.size());
  for (size_t i = 0; i < arguments.size(); ++i) given[i + 1] = &arguments[i];
  for (const auto& [name, value] : kwargs) {
    const auto at = schema.find_argument(name);
    if (!at || *at == 0 || given[*at]) {
      fail(ErrorCode::kInvalidArgument,
           at && *at ? "%s() got two values for argument '%s'" : "%s() has no argument '%s'",
           schema.name.c_str(), name.c_str());
    }
    given[*at] = &value;
  }
  bound.reserve(declared.size());
  bound.push_back(self);
  for (size_t i = 1; i < declared.size(); ++i) {
    if (given[i]) {
      bound.push_back(convert_argument(*given[i], declared[i], schema));
    } else if (declared[i].default_value) {
      bound.push_back(*declared[i].default_value);
    } else {
      fail(ErrorCode::kInvalidArgument, "%s() is missing value for argument '%s'",
           schema.name.c_str(), declared[i].name.c_str());
    }
  }
}

}  // namespace torchlet::api
