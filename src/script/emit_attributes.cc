// What stands behind a dot.
#include <unordered_set>

#include "base/error.h"
#include "graph/operator.h"
#include "graph/prim_kinds.h"
#include "script/constants.h"
#include "script/emitter.h"
#include "tensor/containers.h"

namespace torchlet::script {

SugaredValue Emitter::attribute(const SugaredValue& base, const std::string& name, Span span) {
  if (const auto* operators = std::get_if<OperatorNamespace>(&base)) {
    if (operators->name.empty()) return OperatorNamespace{name};
    if (operators->name == "aten" && name == "autograd") return *operators;
    if (operators->name == "prim" && name == "RaiseException") return SpecialForm::kRaiseException;
    if (operators->name == "prim" && name == "unchecked_unwrap_optional") {
      return SpecialForm::kUncheckedUnwrapOptional;
    }
    const Symbol op(operators->name + "::" + name);
    // PyTorch registers a few of these kinds, but writes them in other ways.
    if (prim::contract_of(op)) fail(span, op.str() + " is no operator that a program can call");
    return OperatorRef{op};
  }
  if (const auto* package = std::get_if<PackageRef>(&base)) {
    return attribute_of_package(package->path, name, span);
  }
  if (const auto* class_ref = std::get_if<ClassRef>(&base)) {
    return attribute_of_class(class_ref->type, name, span);
  }
  if (std::holds_alternative<ConstantTable>(base)) {
    const std::vector<Value>& constants = unit_.program().constants;
    const auto index = constant_index(unit_.program(), name);
    if (!index) {
      fail(span, "there is no CONSTANTS." + name + "; the file has " +
                     std::to_string(constants.size()) + " constants");
    }
    return builder_.constant(constants[*index]);
  }
  return attribute_of_value(value_of(base, span), name, span);
}

SugaredValue Emitter::attribute_of_package(const std::string& path, const std::string& name,
                                           Span span) {
  const std::string full = path + "." + name;
  if (TypePtr type = unit_.find_type(full)) {
    if (type->is(TypeKind::kInterface)) fail(span, "an interface is used as a class");
    return ClassRef{std::move(type)};
  }
  if (Function* function = unit_.find_function(full)) return FunctionValue{function};
  return PackageRef{full};
}

SugaredValue Emitter::attribute_of_class(const TypePtr& type, const std::string& name, Span span) {
  if (const EnumType* enum_type = type->as_enum()) {
    for (const auto& [member, value] : enum_type->members()) {
      if (member == name) {
        return builder_.constant(Value(make_ref<EnumValue>(type, member, value)), type);
      }
    }
  } else if (name == "__new__") {
    return NewRef{type};
  } else if (const ClassType* class_type = type->as_class()) {
    // The hooks of a submodule are called as functions.
    if (Function* hook = class_type->find_method(name)) return FunctionValue{hook};
  }
  fail(span, "the class " + type->str() + " has no '" + name + "'");
}

namespace {

// Properties of tensors and devices that are operators; the rest are methods.
const char* property_operator(const Type& type, const std::string& name) {
  static const std::unordered_set<std::string> kOfTensor = {
      "dtype",         "device",    "grad",     "data",      "shape",        "is_cuda",
      "is_cpu",        "is_xla",    "is_xpu",   "is_sparse", "is_mkldnn",    "is_quantized",
      "is_mps",        "is_vulkan", "is_ipu",   "is_meta",   "is_nested",    "is_ort",
      "requires_grad", "layout",    "T",        "H",         "mT",           "mH",
      "ndim",          "name",      "itemsize", "nbytes",    "is_sparse_csr"};
  static const std::unordered_set<std::string> kAten = {"T", "H", "mT", "mH"};
  if (type.is(TypeKind::kTensor)) {
    if (name == "is_leaf") return "aten";
    if (kOfTensor.contains(name)) {
      // numpy_T, matrix_H, mT, mH are aten operators of their own.
      return kAten.contains(name) && name != "T" ? "aten" : "prim";
    }
  }
  if (type.is(TypeKind::kDevice) && (name == "type" || name == "index")) return "prim";
  return nullptr;
}

}  // namespace

SugaredValue Emitter::attribute_of_value(SsaValue* value, const std::string& name, Span span) {
  const TypePtr type = value->type();
  if (const char* name_space = property_operator(*type, name)) {
    return call_operator(Symbol(std::string(name_space) + "::" + name), {nullptr, {value}, {}});
  }
  switch (type->kind()) {
    case TypeKind::kTensor:
      if (name == "tolist") return ToListRef{value};
      break;
    case TypeKind::kTuple:
      for (size_t i = 0; i < type->field_names().size(); ++i) {
        if (type->field_names()[i] == name) {
          return tuple_item(value, builder_.integer(static_cast<int64_t>(i)), span);
        }
      }
      break;
    case TypeKind::kEnum:
      if (name == "name") return builder_.value(prim::kEnumName, {value}, types::string());
      if (name == "value") {
        return builder_.value(prim::kEnumValue, {value}, type->as_enum()->value_type());
      }
      break;
    case TypeKind::kClass:
    case TypeKind::kInterface: {
      const ClassType& class_type = *type->as_class();
      if (const auto slot = class_type.find_attribute(name)) {
        Node* node = builder_.node(prim::kGetAttr, {value});
        node->set_attribute("name", name);
        return node->add_output(class_type.attributes()[*slot].type);
      }
      if (const Value* constant = class_type.find_constant(name)) {
        return builder_.constant(*constant);
      }
      if (class_type.find_method(name) || is_custom_class(*type)) return MethodRef{value, name};
      fail(span, "'" + type->name() + "' has no attribute or method '" + name + "'");
    }
    case TypeKind::kUnknown:
      return MethodRef{value, name};
    default:
      break;
  }
  // x.f(..) is f(x, ..), and x.type(..) is x.to(..).
  return OperatorRef{Symbol("aten::" + (name == "type" ? "to" : name)), value};
}

bool Emitter::has_attribute(SsaValue* value, const std::string& name) const {
  const ClassType* type = value->type()->as_class();
  return type &&
         (type->find_attribute(name) || type->find_method(name) || type->find_constant(name));
}

}  // namespace torchlet::script
