#include "script/class_importer.h"

#include <algorithm>

#include "script/constants.h"
#include "script/source.h"
#include "script/type_parser.h"

namespace torchlet::script {

void ClassImporter::fail(Span span, const std::string& message) const {
  fail_at(*source_, span, message);
}

TypePtr ClassImporter::type_of(const Expr& expr) {
  return parse_type(*source_, expr,
                    [this](const std::string& name) { return unit_.find_type(name); });
}

const std::string& ClassImporter::name_of(const Stmt& field) const {
  const Expr& target = *field.targets[0];
  if (field.targets.size() != 1 || target.kind != ExprKind::kName) {
    fail(field.span, "a field of a class must have a plain name");
  }
  return target.text;
}

std::vector<std::string> ClassImporter::strings_of(const Stmt& field) const {
  std::vector<std::string> out;
  if (!field.value || field.value->kind != ExprKind::kList) {
    fail(field.span, "a list of names is needed here");
  }
  for (const ExprPtr& item : field.value->children) {
    if (item->kind != ExprKind::kString) fail(item->span, "a name in quotes is needed here");
    out.push_back(item->text);
  }
  return out;
}

void ClassImporter::run() {
  const std::string& base = def_.base;
  if (base == "NamedTuple") {
    import_named_tuple();
  } else if (base == "Enum") {
    import_enum();
  } else if (base == "Interface" || base == "ModuleInterface") {
    import_class(TypeKind::kInterface, base == "ModuleInterface");
  } else if (base.empty() || base == "Module" || base == "object") {
    import_class(TypeKind::kClass, base == "Module");
  } else {
    fail(def_.span, "TorchScript classes cannot derive from '" + base + "'");
  }
}

void ClassImporter::import_class(TypeKind kind, bool is_module) {
  auto type = std::make_shared<ClassType>(kind, name_, is_module);
  for (const StmtPtr& field : def_.fields) import_field(*field, *type);
  unit_.types_[name_] = type;
  for (FunctionDef& method : def_.methods) {
    if (method.parameters.empty()) fail(method.span, "a method has no parameter for its object");
    const std::string name = method.name;
    ScriptFunction* function = unit_.add_function(std::make_unique<ScriptFunction>(
        unit_, name_ + "." + name, source_, std::move(method), type,
        /*bodiless=*/kind == TypeKind::kInterface));
    type->add_method(name, function);
  }
  for (const std::vector<std::string>* hooks : {&type->forward_pre_hooks, &type->forward_hooks}) {
    for (const std::string& hook : *hooks) {
      if (!type->find_method(hook)) fail(def_.span, "there is no hook '" + hook + "'");
    }
  }
}

void ClassImporter::import_field(const Stmt& field, ClassType& type) {
  const Expr& target = *field.targets[0];
  if (target.kind == ExprKind::kSubscript) {
    // __annotations__["0"] = T: an attribute whose name is no Python name.
    const bool fits = target.children.size() == 2 && field.value &&
                      target.children[0]->text == "__annotations__" &&
                      target.children[1]->kind == ExprKind::kString;
    if (!fits) fail(field.span, "this is no attribute of a class");
    add_attribute(type, target.children[1]->text, type_of(*field.value));
    return;
  }
  const std::string& name = name_of(field);
  if (name == "__parameters__" && !field.type) {
    parameters_ = strings_of(field);
  } else if (name == "__buffers__" && !field.type) {
    buffers_ = strings_of(field);
  } else if (name == "__forward_pre_hooks__" && !field.type) {
    type.forward_pre_hooks = strings_of(field);
  } else if (name == "__forward_hooks__" && !field.type) {
    type.forward_hooks = strings_of(field);
  } else if (name == "__annotations__" && !field.type) {
    return;
  } else if (!field.type) {
    fail(field.span, "the field '" + name + "' has no type");
  } else if (field.value) {
    const TypePtr constant_type = type_of(*field.type);
    type.add_constant(name, evaluate_constant(unit_, *source_, *field.value, constant_type));
  } else {
    add_attribute(type, name, type_of(*field.type));
  }
}

void ClassImporter::add_attribute(ClassType& type, const std::string& name,
                                  TypePtr attribute_type) {
  // Before 2020 packed weights were tensors with a C++ object inside. Today's operators want the
  // object, so what such an attribute holds is left open.
  if (name == "_packed_params" && attribute_type->is(TypeKind::kTensor) &&
      name_.find(".quantized.") != std::string::npos) {
    attribute_type = types::unknown();
  }
  const auto is_in = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto kind = is_in(parameters_) ? ClassType::AttributeKind::kParameter
                    : is_in(buffers_)  ? ClassType::AttributeKind::kBuffer
                                       : ClassType::AttributeKind::kRegular;
  type.add_attribute({name, std::move(attribute_type), kind});
}

void ClassImporter::import_named_tuple() {
  std::vector<std::string> names;
  std::vector<TypePtr> field_types;
  for (const StmtPtr& field : def_.fields) {
    if (!field->type) fail(field->span, "a field of a NamedTuple has no type");
    names.push_back(name_of(*field));
    field_types.push_back(type_of(*field->type));
  }
  unit_.types_[name_] = types::named_tuple(name_, std::move(names), std::move(field_types));
}

void ClassImporter::import_enum() {
  std::vector<std::pair<std::string, Value>> members;
  for (const StmtPtr& field : def_.fields) {
    if (!field->value) fail(field->span, "a member of an enum has no value");
    members.emplace_back(name_of(*field),
                         evaluate_constant(unit_, *source_, *field->value, nullptr));
  }
  if (members.empty()) fail(def_.span, "the enum has no members");
  const Value& first = members[0].second;
  const TypePtr value_type = first.is_int()     ? types::integer()
                             : first.is_float() ? types::floating()
                                                : types::string();
  auto type = std::make_shared<EnumType>(name_, value_type);
  for (auto& [member, value] : members) type->add_member(member, std::move(value));
  unit_.types_[name_] = type;
}

}  // namespace torchlet::script
