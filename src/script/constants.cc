#include "script/constants.h"

#include <charconv>
#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include "script/type_parser.h"
#include "tensor/containers.h"

namespace torchlet::script {
namespace {

class Evaluator {
 public:
  Evaluator(CompilationUnit& unit, const Source& source) : unit_(unit), source_(source) {}

  Value evaluate(const Expr& e, TypePtr hint) const {
    const CompilationUnit::Nested nested(unit_, source_, e.span);
    if (hint && hint->is(TypeKind::kOptional)) hint = hint->element(0);
    switch (e.kind) {
      case ExprKind::kInt:
        if (hint && hint->is(TypeKind::kFloat)) return Value(static_cast<double>(e.int_value));
        return Value(e.int_value);
      case ExprKind::kFloat:
        return Value(e.float_value);
      case ExprKind::kImaginary:
        return Value(std::complex<double>(0, e.float_value));
      case ExprKind::kString:
        return Value(e.text);
      case ExprKind::kTrue:
        return Value(true);
      case ExprKind::kFalse:
        return Value(false);
      case ExprKind::kNone:
        return Value();
      case ExprKind::kTuple:
        return tuple(e, hint);
      case ExprKind::kList:
        return list(e, hint);
      case ExprKind::kDict:
        return dict(e, hint);
      case ExprKind::kUnary:
        return negated(e);
      case ExprKind::kBinary:
        return complex_sum(e);
      case ExprKind::kCall:
        return call(e);
      default:
        return named(e);
    }
  }

 private:
  [[noreturn]] void fail(const Expr& e) const {
    fail_at(source_, e.span, "a constant is needed here");
  }

  static TypePtr element_hint(const TypePtr& hint, TypeKind kind, size_t i) {
    return hint && hint->is(kind) && i < hint->elements().size() ? hint->element(i) : nullptr;
  }

  Value tuple(const Expr& e, const TypePtr& hint) const {
    std::vector<Value> items;
    for (size_t i = 0; i < e.children.size(); ++i) {
      items.push_back(evaluate(*e.children[i], element_hint(hint, TypeKind::kTuple, i)));
    }
    return Value::tuple(std::move(items));
  }

  Value list(const Expr& e, const TypePtr& hint) const {
    TypePtr element = element_hint(hint, TypeKind::kList, 0);
    std::vector<Value> items;
    for (const ExprPtr& child : e.children) items.push_back(evaluate(*child, element));
    if (!element) element = items.empty() ? types::tensor() : type_of(items[0]);
    return make_list(element, std::move(items));
  }

  Value dict(const Expr& e, const TypePtr& hint) const {
    TypePtr key = element_hint(hint, TypeKind::kDict, 0);
    TypePtr value = element_hint(hint, TypeKind::kDict, 1);
    std::vector<Value> items;
    for (size_t i = 0; i < e.children.size(); ++i) {
      items.push_back(evaluate(*e.children[i], i % 2 == 0 ? key : value));
    }
    if (!key) key = items.empty() ? types::string() : type_of(items[0]);
    if (!value) value = items.empty() ? types::tensor() : type_of(items[1]);
    auto made = make_ref<Dict>(key, value);
    for (size_t i = 0; i + 1 < items.size(); i += 2) made->set(items[i], items[i + 1]);
    return Value(std::move(made));
  }

  Value negated(const Expr& e) const {
    const Value operand = evaluate(*e.children[0], nullptr);
    if (e.op != ExprOp::kNegate) fail(e);
    if (operand.is_float()) return Value(-operand.to_double());
    if (operand.is_complex()) return Value(-operand.to_complex());
    fail(e);
  }

  // 0.5-2.j
  Value complex_sum(const Expr& e) const {
    const Value left = evaluate(*e.children[0], nullptr);
    const Value right = evaluate(*e.children[1], nullptr);
    const bool numbers = left.is_scalar() && !left.is_bool() && right.is_complex();
    if (numbers && e.op == ExprOp::kAdd) return Value(left.to_complex() + right.to_complex());
    if (numbers && e.op == ExprOp::kSub) return Value(left.to_complex() - right.to_complex());
    fail(e);
  }

  TypePtr find_type(const std::string& name) const { return unit_.find_type(name); }

  // annotate(List[int], []), a NamedTuple's constructor, torch.device("cpu").
  Value call(const Expr& e) const {
    const std::string name = dotted_name(*e.children[0]);
    if (name == "annotate" && e.children.size() == 3) {
      const TypePtr type = parse_type(source_, *e.children[1],
                                      [this](const std::string& n) { return find_type(n); });
      return evaluate(*e.children[2], type);
    }
    if (name == "torch.device" && e.children.size() == 2) {
      const Value text = evaluate(*e.children[1], nullptr);
      if (text.is_string()) return Value::device(text.to_string());
    }
    const TypePtr type = name.empty() ? nullptr : find_type(name);
    if (!type || !type->is(TypeKind::kTuple) || e.children.size() != type->elements().size() + 1) {
      fail(e);
    }
    std::vector<Value> items;
    for (size_t i = 1; i < e.children.size(); ++i) {
      items.push_back(evaluate(*e.children[i], type->element(i - 1)));
    }
    return Value(make_ref<Tuple>(std::move(items), type));
  }

  // inf, CONSTANTS.c3, __torch__.Color.RED
  Value named(const Expr& e) const {
    const std::string name = dotted_name(e);
    constexpr double kInf = std::numeric_limits<double>::infinity();
    if (name == "inf") return Value(kInf);
    if (name == "nan") return Value(std::nan(""));
    if (name == "infj") return Value(std::complex<double>(0, kInf));
    if (name == "nanj") return Value(std::complex<double>(0, std::nan("")));
    constexpr std::string_view kConstants = "CONSTANTS.";
    if (name.starts_with(kConstants)) {
      const auto index = constant_index(unit_.program(), name.substr(kConstants.size()));
      if (index) return unit_.program().constants[*index];
    }
    if (e.kind == ExprKind::kAttribute) {
      const std::string class_name = dotted_name(*e.children[0]);
      const TypePtr type = class_name.empty() ? nullptr : find_type(class_name);
      if (const EnumType* enum_type = type ? type->as_enum() : nullptr) {
        for (const auto& [member, value] : enum_type->members()) {
          if (member == e.text) return Value(make_ref<EnumValue>(type, member, value));
        }
      }
    }
    fail(e);
  }

  CompilationUnit& unit_;
  const Source& source_;
};

}  // namespace

std::optional<size_t> constant_index(const Program& program, std::string_view name) {
  size_t index = 0;
  const char* end = name.data() + name.size();
  if (!name.starts_with('c')) return std::nullopt;
  const auto [rest, error] = std::from_chars(name.data() + 1, end, index);
  if (error != std::errc() || rest != end || index >= program.constants.size()) return std::nullopt;
  return index;
}

Value evaluate_constant(CompilationUnit& unit, const Source& source, const Expr& expr,
                        const TypePtr& hint) {
  return Evaluator(unit, source).evaluate(expr, hint);
}

}  // namespace torchlet::script
