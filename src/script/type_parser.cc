#include "script/type_parser.h"

#include <string_view>
#include <unordered_map>

#include "script/parser.h"

namespace torchlet::script {
namespace {

TypePtr simple_type(const std::string& name) {
  static const std::unordered_map<std::string_view, TypePtr> kSimpleTypes = {
      {"Tensor", types::tensor()},
      {"int", types::integer()},
      {"float", types::floating()},
      {"complex", types::complex()},
      {"bool", types::boolean()},
      {"str", types::string()},
      {"None", types::none()},
      {"NoneType", types::none()},
      {"Any", types::any()},
      {"Scalar", types::number()},
      {"number", types::number()},
      {"Device", types::device()},
      {"device", types::device()},
      {"torch.device", types::device()},
      {"Generator", types::generator()},
      {"torch.Generator", types::generator()},
      {"Storage", types::simple(TypeKind::kStorage)},
      {"Stream", types::simple(TypeKind::kStream)},
      {"Capsule", types::simple(TypeKind::kCapsule)},
      {"list", types::simple(TypeKind::kAnyList)},
      {"tuple", types::simple(TypeKind::kAnyTuple)},
      {"AnyListType", types::simple(TypeKind::kAnyList)},
      {"AnyTupleType", types::simple(TypeKind::kAnyTuple)},
      {"AnyClassType", types::simple(TypeKind::kAnyClass)},
      {"AnyEnumType", types::simple(TypeKind::kAnyEnum)},
      // TorchScript passes these as ints.
      {"ScalarType", types::integer()},
      {"dtype", types::integer()},
      {"torch.dtype", types::integer()},
      {"Layout", types::integer()},
      {"torch.layout", types::integer()},
      {"MemoryFormat", types::integer()},
      {"torch.memory_format", types::integer()},
      {"QScheme", types::integer()},
      {"torch.qscheme", types::integer()},
      {"SymInt", types::integer()},
      {"SymFloat", types::floating()},
  };
  const auto found = kSimpleTypes.find(name);
  if (found != kSimpleTypes.end()) return found->second;
  // torch.Tensor, torch.LongTensor, ...
  if (name.starts_with("torch.") && name.ends_with("Tensor") &&
      name.find('.', 6) == std::string::npos) {
    return types::tensor();
  }
  return nullptr;
}

class TypeParser {
 public:
  TypeParser(const Source& source, NamedTypes named_types)
      : source_(source), named_types_(named_types) {}

  TypePtr parse(const Expr& e) const {
    constexpr int kDeepest = 100;  // in expressions; types themselves are bounded, too
    if (e.depth > kDeepest) fail_at(source_, e.span, "a type is nested too deeply");
    switch (e.kind) {
      case ExprKind::kNone:
        return types::none();
      case ExprKind::kSubscript:
        return generic(e);
      case ExprKind::kString:
        return named(e, e.text);
      default:
        return named(e, dotted_name(e));
    }
  }

 private:
  TypePtr named(const Expr& e, const std::string& name) const {
    if (name.empty()) fail_at(source_, e.span, "this is no type");
    if (TypePtr type = simple_type(name)) return type;
    if (TypePtr type = named_types_(name)) return type;
    fail_at(source_, e.span, "there is no type '" + name + "'");
  }

  TypePtr generic(const Expr& e) const {
    std::string name = dotted_name(*e.children[0]);
    name = name.substr(name.rfind('.') + 1);
    const size_t given = e.children.size() - 1;
    if (given == 2 && dotted_name(*e.children[1]) == "NamedTuple") return named_tuple(e);
    if (name == "Tuple") {
      const bool empty =
          given == 1 && e.children[1]->kind == ExprKind::kTuple && e.children[1]->children.empty();
      return types::tuple(empty ? std::vector<TypePtr>() : arguments(e));
    }
    if (name == "Union") return types::union_of(arguments(e));
    const bool dict = name == "Dict";
    const bool broadcasting = name.starts_with("BroadcastingList");
    if (!dict && !broadcasting && name != "List" && name != "Optional" && name != "Future" &&
        name != "Await" && name != "RRef" && name != "Final") {
      fail_at(source_, e.span, "there is no generic type '" + name + "'");
    }
    if (given != (dict ? 2 : 1)) fail_at(source_, e.span, "the wrong number of types for " + name);
    std::vector<TypePtr> inner = arguments(e);
    if (dict) return types::dict(inner[0], inner[1]);
    if (broadcasting || name == "List") return types::list(inner[0]);
    if (name == "Optional") return types::optional(inner[0]);
    if (name == "Final") return inner[0];
    if (name == "RRef") return std::make_shared<Type>(TypeKind::kRRef, std::move(inner));
    return types::future(inner[0]);
  }

  // Bytecode writes its fields out: "__torch__.Point[NamedTuple, [[x, Tensor], [y, int]]]".
  TypePtr named_tuple(const Expr& e) const {
    std::vector<std::string> names;
    std::vector<TypePtr> elements;
    for (const ExprPtr& field : e.children[2]->children) {
      if (field->children.size() != 2) fail_at(source_, field->span, "this is no field");
      names.push_back(dotted_name(*field->children[0]));
      elements.push_back(parse(*field->children[1]));
    }
    return types::named_tuple(dotted_name(*e.children[0]), std::move(names), std::move(elements));
  }

  std::vector<TypePtr> arguments(const Expr& e) const {
    std::vector<TypePtr> out;
    for (size_t i = 1; i < e.children.size(); ++i) out.push_back(parse(*e.children[i]));
    return out;
  }

  const Source& source_;
  NamedTypes named_types_;
};

}  // namespace

TypePtr parse_type(const Source& source, const Expr& expr, NamedTypes named_types) {
  return TypeParser(source, named_types).parse(expr);
}

TypePtr parse_type(const std::string& where, std::string_view text, NamedTypes named_types) {
  const Source source{where, std::string(text), 1, nullptr};
  const ExprPtr expr = parse_expression(source);
  return parse_type(source, *expr, named_types);
}

std::string dotted_name(const Expr& expr) {
  if (expr.kind == ExprKind::kName) return expr.text;
  if (expr.kind != ExprKind::kAttribute) return "";
  const std::string prefix = dotted_name(*expr.children[0]);
  return prefix.empty() ? "" : prefix + "." + expr.text;
}

}  // namespace torchlet::script
