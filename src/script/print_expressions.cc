// The node kinds and operators as expressions.
#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "script/builder.h"
#include "script/builtins.h"
#include "script/function_printer.h"
#include "script/upgraders.h"
#include "tensor/containers.h"

namespace torchlet::script {

std::string FunctionPrinter::use(const SsaValue* value) {
  if (value == kept_.first) return kept_.second;
  if (const Value* constant = Builder::constant_value(value)) return context_.literal(*constant);
  return texts_.at(value);
}

std::string FunctionPrinter::typed(const SsaValue* value) {
  if (const Value* constant = Builder::constant_value(value)) {
    return context_.literal(*constant, value->type());
  }
  return texts_.at(value);
}

std::string FunctionPrinter::typed(const SsaValue* value, const TypePtr& variable) {
  if (value->type()->is(TypeKind::kNone) && !variable->is(TypeKind::kNone))
    return "annotate(" + context_.type(variable) + ", None)";
  if (variable->is(TypeKind::kAny) && !value->type()->is(TypeKind::kAny)) {
    return "unchecked_cast(" + context_.type(variable) + ", " + use(value) + ")";
  }
  return typed(value);
}

std::vector<std::string> FunctionPrinter::uses(const Node& node, size_t from) {
  std::vector<std::string> texts;
  for (size_t i = from; i < node.inputs().size(); ++i) texts.push_back(use(node.input(i)));
  return texts;
}

std::string FunctionPrinter::expression(const Node& node) {
  const Symbol kind = node.kind();
  if (node.op()) return operator_call(node);
  if (kind == prim::kUnsupported) return unsupported_call(node);
  if (kind == prim::kCallFunction) return function_call(node);
  if (kind == prim::kCallMethod) return method_call(node);
  if (kind == prim::kDictConstruct) return display(node);
  if (kind == prim::kGetAttr) return attribute(node);
  if (kind == prim::kIsInstance) return is_instance(node);
  if (kind == prim::kUninitialized) {
    return "uninitialized(" + context_.type(node.output()->type()) + ")";
  }
  if (kind == prim::kUncheckedCast) {
    return "unchecked_cast(" + context_.type(node.output()->type()) + ", " + use(node.input(0)) +
           ")";
  }
  if (kind == prim::kCreateObject) {
    const std::string type = context_.type(node.output()->type());
    return type + ".__new__(" + type + ")";
  }
  if (kind == prim::kTupleIndex) return use(node.input(0)) + "[" + use(node.input(1)) + "]";
  if (kind == prim::kModuleContainerIndex) {
    return "annotate(" + context_.type(node.output()->type()) + ", " + use(node.input(0)) + "[" +
           use(node.input(1)) + "])";
  }
  if (kind == prim::kToList) {
    return "annotate(" + context_.type(node.output()->type()) + ", " + use(node.input(0)) +
           ".tolist())";
  }
  if (kind == prim::kEnumName) return use(node.input(0)) + ".name";
  if (kind == prim::kEnumValue) return use(node.input(0)) + ".value";
  if (kind == prim::kPrint) return "print(" + joined(uses(node)) + ")";
  if (kind == prim::kRaiseException) {
    std::vector<std::string> parts = uses(node);
    if (parts.back() == "None") parts.pop_back();
    return "ops.prim.RaiseException(" + joined(parts) + ")";
  }
  fail(ErrorCode::kInternal, "a node of kind " + kind.str() + " is to be printed");
}

// Operators.

namespace {

std::string spelled(std::string_view qualified) {
  const size_t colons = qualified.find("::");
  const std::string space(qualified.substr(0, colons)), name(qualified.substr(colons + 2));
  return (space == "aten" ? "torch." : "ops." + space + ".") + name;
}

// Those that Python writes as a call of a type.
const char* cast_of(const Operator& op) {
  static constexpr std::pair<std::string_view, const char*> kCasts[] = {
      {"aten::Int", "int"}, {"aten::Float", "float"},     {"aten::Bool", "bool"},
      {"aten::str", "str"}, {"aten::Complex", "complex"},
  };
  const auto* const found =
      std::ranges::find(kCasts, op.name.str(), [](const auto& cast) { return cast.first; });
  return found == std::end(kCasts) ? nullptr : found->second;
}

bool is_implicit_conversion(const Operator& op) {
  return op.name.name().ends_with("Implicit") && op.name.name_space() == "aten" &&
         op.schema.arguments.size() == 1;
}

bool has_items(const Type& type) {
  return type.is(TypeKind::kList) || type.is(TypeKind::kDict) || type.is(TypeKind::kString);
}

bool is_default(const Argument& argument, const SsaValue* actual) {
  const Value* constant = Builder::constant_value(actual);
  return constant && argument.default_value && constant->kind() == argument.default_value->kind() &&
         values_equal(*constant, *argument.default_value);
}

}  // namespace

// Without the defaults at the end, which files of other releases may not have; by name if that is
// the only way.
std::string FunctionPrinter::arguments(const Schema& schema, const Node& node, size_t from) {
  const size_t declared = std::min(schema.arguments.size(), node.inputs().size());
  size_t positional_end = from;
  for (size_t i = from; i < declared; ++i) {
    const Argument& argument = schema.arguments[i];
    if (!argument.keyword_only && !is_default(argument, node.input(i))) positional_end = i + 1;
  }
  std::vector<std::string> parts;
  for (size_t i = from; i < node.inputs().size(); ++i) {
    const SsaValue* input = node.input(i);
    if (i >= declared) {
      parts.push_back(use(input));  // of a schema that ends in ...
    } else if (!schema.arguments[i].keyword_only) {
      if (i < positional_end || schema.is_vararg) parts.push_back(use(input));
    } else if (!is_default(schema.arguments[i], input)) {
      parts.push_back(schema.arguments[i].name + "=" + use(input));
    }
  }
  return "(" + joined(parts) + ")";
}

std::string FunctionPrinter::operator_call(const Node& node) {
  const Operator& op = *node.op();
  context_.needs_version(version_of_meaning(op.schema));
  if (is_implicit_conversion(op)) {
    return "annotate(" + context_.type(node.output()->type()) + ", " + use(node.input(0)) + ")";
  }
  const bool converts = node.inputs().size() == 1 && node.outputs().size() == 1 &&
                        !equal(node.input(0)->type(), node.output()->type());
  if (const char* cast = cast_of(op); cast && (converts || node.inputs().size() == 2)) {
    return cast + arguments(op.schema, node, 0);
  }
  if (op.name.str() == "aten::__getitem__" && has_items(*node.input(0)->type())) {
    return use(node.input(0)) + "[" + use(node.input(1)) + "]";
  }
  return spelled(op.name.str()) + arguments(op.schema, node, 0);
}

std::string FunctionPrinter::unsupported_call(const Node& node) {
  return spelled(node.string_attribute("name")) + arguments_as_written(node, 0);
}

// Of a call of which no schema is known.
std::string FunctionPrinter::arguments_as_written(const Node& node, size_t from) {
  std::vector<std::string> parts = uses(node, from);
  std::vector<std::string> keywords;
  if (node.has_attribute("keywords")) {
    std::istringstream names(node.string_attribute("keywords"));
    for (std::string name; names >> name;) keywords.push_back(name);
  }
  for (size_t i = 0; i < keywords.size(); ++i) {
    std::string& part = parts.at(parts.size() - keywords.size() + i);
    part = keywords[i] + "=" + part;
  }
  return "(" + joined(parts) + ")";
}

// Functions and methods.

std::string FunctionPrinter::function_call(const Node& node) {
  Function* function = node.function_attribute("function");
  if (const std::string_view op = builtin_operator(function); !op.empty()) {
    return spelled(op) + "(" + joined(uses(node)) + ")";
  }
  return context_.function(function) + arguments(function->schema(), node, 0);
}

std::string FunctionPrinter::method_call(const Node& node) {
  const std::string& name = node.string_attribute("name");
  const std::string head = use(node.input(0)) + "." + name;
  const ClassType* type = node.input(0)->type()->as_class();
  if (Function* method = type ? type->find_method(name) : nullptr) {
    return head + arguments(method->schema(), node, 1);
  }
  return head + arguments_as_written(node, 1);
}

// Lists, dicts, tuples, attributes.

std::string FunctionPrinter::display(const Node& node) {
  const TypePtr& type = node.output()->type();
  const std::vector<SsaValue*>& inputs = node.inputs();
  std::vector<std::string> parts;
  for (const SsaValue* input : inputs) parts.push_back(typed(input));
  if (type->is(TypeKind::kTuple)) {
    if (!type->name().empty()) return context_.type(type) + "(" + joined(parts) + ")";
    return "(" + joined(parts) + (parts.size() == 1 ? ",)" : ")");
  }
  std::string text;
  bool says_its_type = !inputs.empty();
  if (type->is(TypeKind::kDict)) {
    for (size_t i = 0; i + 1 < inputs.size(); i += 2) {
      text += (text.empty() ? "" : ", ") + parts[i] + ": " + parts[i + 1];
      says_its_type = says_its_type && equal(inputs[i]->type(), type->element(0)) &&
                      equal(inputs[i + 1]->type(), type->element(1));
    }
    text = "{" + text + "}";
  } else {
    says_its_type = says_its_type && std::ranges::all_of(inputs, [&](const SsaValue* input) {
                      return equal(input->type(), type->element(0));
                    });
    text = "[" + joined(parts) + "]";
  }
  const bool is_known = std::ranges::none_of(
      type->elements(), [](const TypePtr& t) { return t->is(TypeKind::kUnknown); });
  if (says_its_type || !is_known) return text;
  return "annotate(" + context_.type(type) + ", " + text + ")";
}

std::string FunctionPrinter::attribute(const Node& node) {
  const std::string& name = node.string_attribute("name");
  if (is_identifier(name)) return use(node.input(0)) + "." + name;
  return "getattr(" + use(node.input(0)) + ", " + string_literal(name) + ")";
}

std::string FunctionPrinter::is_instance(const Node& node) {
  std::vector<std::string> candidates;
  for (const TypePtr& type : node.type_attribute("types")->elements()) {
    candidates.push_back(context_.type(type));
  }
  const std::string classes =
      candidates.size() == 1 ? candidates[0] : "(" + joined(candidates) + ")";
  return "isinstance(" + use(node.input(0)) + ", " + classes + ")";
}

}  // namespace torchlet::script
