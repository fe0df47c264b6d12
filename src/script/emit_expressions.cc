// Expressions and what a `for` runs over.
#include <cmath>
#include <complex>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "script/emitter.h"
#include "tensor/containers.h"

namespace torchlet::script {

SugaredValue Emitter::emit(const Expr& e, const TypePtr& hint) {
  const CompilationUnit::Nested nested(unit_, *builder_.source(), e.span);
  builder_.set_span(e.span);
  switch (e.kind) {
    case ExprKind::kInt:
      return builder_.integer(e.int_value);
    case ExprKind::kFloat:
      return builder_.constant(Value(e.float_value));
    case ExprKind::kImaginary:
      return builder_.constant(Value(std::complex<double>(0, e.float_value)));
    case ExprKind::kString:
      return builder_.constant(Value(e.text));
    case ExprKind::kTrue:
      return builder_.boolean(true);
    case ExprKind::kFalse:
      return builder_.boolean(false);
    case ExprKind::kNone:
      return builder_.none();
    case ExprKind::kName:
      return lookup(e);
    case ExprKind::kAttribute: {
      const SugaredValue base = emit(*e.children[0]);
      builder_.set_span(e.span);
      return attribute(base, e.text, e.span);
    }
    case ExprKind::kCall:
      return emit_call(e, hint);
    case ExprKind::kSubscript:
      return emit_subscript(e, hint);
    case ExprKind::kTuple:
      return emit_tuple(e);
    case ExprKind::kList:
      return emit_list(e, hint);
    case ExprKind::kDict:
      return emit_dict(e, hint);
    case ExprKind::kListComp:
    case ExprKind::kDictComp:
      return emit_comprehension(e, hint);
    case ExprKind::kTernary:
      return emit_ternary(e, hint);
    case ExprKind::kUnary:
      return emit_unary(e);
    case ExprKind::kBinary:
      if (e.op == ExprOp::kIs || e.op == ExprOp::kIsNot) return emit_condition(e).value;
      return emit_binary(e);
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot:
      return emit_condition(e).value;
    case ExprKind::kEllipsis:
    case ExprKind::kSlice:
    case ExprKind::kStarred:
      break;
  }
  fail(e, "this cannot stand here");
}

SsaValue* Emitter::emit_value(const Expr& e, const TypePtr& hint) {
  return value_of(emit(e, hint), e.span);
}

SsaValue* Emitter::value_of(const SugaredValue& sugared, Span span) {
  if (SsaValue* const* value = std::get_if<SsaValue*>(&sugared)) return *value;
  if (const auto* several = std::get_if<Several>(&sugared)) {
    if (several->values.empty()) return builder_.none();
    std::vector<TypePtr> item_types;
    for (const SsaValue* value : several->values) item_types.push_back(value->type());
    return builder_.value(prim::kTupleConstruct, several->values,
                          types::tuple(std::move(item_types)));
  }
  fail(span, "a function, class or namespace is used as a value");
}

namespace {

const std::unordered_map<std::string, SpecialForm>& special_forms() {
  static const std::unordered_map<std::string, SpecialForm> kForms = {
      {"annotate", SpecialForm::kAnnotate},
      {"unchecked_cast", SpecialForm::kUncheckedCast},
      {"uninitialized", SpecialForm::kUninitialized},
      {"isinstance", SpecialForm::kIsInstance},
      {"hasattr", SpecialForm::kHasAttr},
      {"getattr", SpecialForm::kGetAttr},
      {"fork", SpecialForm::kFork},
      {"print", SpecialForm::kPrint},
      {"tuple", SpecialForm::kTuple},
      {"range", SpecialForm::kRange},
      {"zip", SpecialForm::kZip},
      {"enumerate", SpecialForm::kEnumerate},
      {"float", SpecialForm::kFloat},
      {"int", SpecialForm::kInt},
      {"bool", SpecialForm::kBool},
      {"str", SpecialForm::kStr},
  };
  return kForms;
}

// Python's own functions that are operators.
const std::unordered_map<std::string, const char*>& builtin_functions() {
  static const std::unordered_map<std::string, const char*> kFunctions = {
      {"len", "aten::len"},
      {"hex", "aten::hex"},
      {"oct", "aten::oct"},
      {"bin", "aten::bin"},
      {"round", "aten::round"},
      {"hash", "aten::hash"},
      {"id", "prim::id"},
      {"min", "prim::min"},
      {"max", "prim::max"},
      {"abs", "prim::abs"},
      {"all", "aten::all"},
      {"any", "aten::any"},
      {"divmod", "aten::divmod"},
      {"sum", "aten::sum"},
      {"list", "aten::list"},
      {"dict", "aten::dict"},
      {"ord", "aten::ord"},
      {"chr", "aten::chr"},
      {"pow", "aten::pow"},
      {"complex", "aten::Complex"},
      {"rangelist", "prim::rangelist"},
      {"sorted", "aten::sorted"},
      {"_to_tensor", "prim::NumToTensor"},
  };
  return kFunctions;
}

}  // namespace

SugaredValue Emitter::lookup(const Expr& name) {
  const std::string& text = name.text;
  if (const SugaredValue* variable = env_.find(text)) return *variable;
  if (text == "torch") return OperatorNamespace{"aten"};
  if (text == "ops") return OperatorNamespace{""};
  if (text == "CONSTANTS") return ConstantTable{};
  if (text == "__torch__") return PackageRef{text};
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (text == "inf") return builder_.constant(Value(kInf));
  if (text == "nan") return builder_.constant(Value(std::nan("")));
  if (text == "infj") return builder_.constant(Value(std::complex<double>(0, kInf)));
  if (text == "nanj") return builder_.constant(Value(std::complex<double>(0, std::nan(""))));
  const auto form = special_forms().find(text);
  if (form != special_forms().end()) return form->second;
  const auto function = builtin_functions().find(text);
  if (function != builtin_functions().end()) return OperatorRef{Symbol(function->second)};
  if (text.ends_with("Error") || text.ends_with("Exception")) return ExceptionRef{text};
  const std::string problem = env_.problem(text);
  fail(name, problem.empty() ? "'" + text + "' is not defined" : problem);
}

// Operators.

namespace {

struct BinaryOperator {
  const char* name;
  const char* method;  // of script classes
};

BinaryOperator binary_operator(ExprOp op) {
  switch (op) {
    case ExprOp::kAdd:
      return {"aten::add", "__add__"};
    case ExprOp::kSub:
      return {"aten::sub", "__sub__"};
    case ExprOp::kMul:
      return {"aten::mul", "__mul__"};
    case ExprOp::kPow:
      return {"aten::pow", "__pow__"};
    case ExprOp::kDiv:
      return {"aten::div", "__truediv__"};
    case ExprOp::kFloorDiv:
      return {"aten::floordiv", "__floordiv__"};
    case ExprOp::kMod:
      return {"aten::remainder", "__mod__"};
    case ExprOp::kMatMul:
      return {"aten::matmul", "__matmul__"};
    case ExprOp::kBitAnd:
      return {"aten::__and__", "__and__"};
    case ExprOp::kBitOr:
      return {"aten::__or__", "__or__"};
    case ExprOp::kBitXor:
      return {"aten::__xor__", "__xor__"};
    case ExprOp::kShiftLeft:
      return {"aten::__lshift__", "__lshift__"};
    case ExprOp::kShiftRight:
      return {"aten::__rshift__", "__rshift__"};
    case ExprOp::kLess:
      return {"aten::lt", "__lt__"};
    case ExprOp::kGreater:
      return {"aten::gt", "__gt__"};
    case ExprOp::kLessEqual:
      return {"aten::le", "__le__"};
    case ExprOp::kGreaterEqual:
      return {"aten::ge", "__ge__"};
    case ExprOp::kEqual:
      return {"aten::eq", "__eq__"};
    case ExprOp::kNotEqual:
      return {"aten::ne", "__ne__"};
    default:
      return {"aten::__contains__", "__contains__"};
  }
}

std::optional<std::complex<double>> constant_number(const SsaValue* value) {
  const Value* constant = Builder::constant_value(value);
  if (!constant || !constant->is_scalar() || constant->is_bool()) return std::nullopt;
  return constant->to_complex();
}

bool has_method(const SsaValue* value, const char* name) {
  const ClassType* type = value->type()->as_class();
  return type && type->find_method(name);
}

}  // namespace

SsaValue* Emitter::emit_unary(const Expr& e) {
  SsaValue* operand = emit_value(*e.children[0]);
  builder_.set_span(e.span);
  const bool negate = e.op == ExprOp::kNegate;
  const char* method = negate ? "__neg__" : "__invert__";
  if (has_method(operand, method)) return call_method(operand, method, {}, e.span);
  if (const Value* constant = Builder::constant_value(operand); constant && negate) {
    if (constant->is_float()) return builder_.constant(Value(-constant->to_double()));
    if (constant->is_complex()) return builder_.constant(Value(-constant->to_complex()));
  }
  return call_operator_value(negate ? "aten::neg" : "aten::bitwise_not", {operand});
}

SsaValue* Emitter::emit_binary(const Expr& e) {
  SsaValue* left = emit_value(*e.children[0]);
  SsaValue* right = emit_value(*e.children[1]);
  builder_.set_span(e.span);
  // Complex constants are written as a sum: 0.5-2.j
  const bool is_sum = e.op == ExprOp::kAdd || e.op == ExprOp::kSub;
  if (is_sum && right->type()->is(TypeKind::kComplex)) {
    const auto a = constant_number(left);
    const auto b = constant_number(right);
    if (a && b) return builder_.constant(Value(e.op == ExprOp::kAdd ? *a + *b : *a - *b));
  }
  const bool contains = e.op == ExprOp::kIn || e.op == ExprOp::kNotIn;
  if (contains) std::swap(left, right);
  const BinaryOperator op = binary_operator(e.op);
  SsaValue* result = nullptr;
  if (has_method(left, op.method)) {
    result = call_method(left, op.method, {nullptr, {right}, {}}, e.span);
  } else if (e.op == ExprOp::kMod && left->type()->is(TypeKind::kString)) {
    result = call_operator_value("aten::percentFormat", {left, right});
  } else {
    result = call_operator_value(op.name, {left, right});
  }
  return e.op == ExprOp::kNotIn ? call_operator_value("aten::__not__", {result}) : result;
}

SsaValue* Emitter::emit_ternary(const Expr& e, const TypePtr& hint) {
  const Condition condition = emit_condition(*e.children[1]);
  return emit_choice(
      condition, [&] { return emit_value(*e.children[0], hint); },
      [&] { return emit_value(*e.children[2], hint); }, e.span);
}

// Displays.

SugaredValue Emitter::emit_tuple(const Expr& e) {
  Several items;
  for (const ExprPtr& child : e.children) {
    if (child->kind != ExprKind::kStarred) {
      items.values.push_back(emit_value(*child));
      continue;
    }
    const SugaredValue inner = emit(*child->children[0]);
    for (const SugaredValue& item : items_of(inner, std::nullopt, child->span)) {
      items.values.push_back(value_of(item, child->span));
    }
  }
  builder_.set_span(e.span);
  // Several without any stands for None.
  if (items.values.empty()) return builder_.value(prim::kTupleConstruct, {}, types::tuple({}));
  return items;
}

SsaValue* Emitter::emit_list(const Expr& e, const TypePtr& hint) {
  const bool hinted = hint && hint->is(TypeKind::kList);
  TypePtr element = hinted ? hint->element(0) : nullptr;
  std::vector<SsaValue*> items;
  for (const ExprPtr& child : e.children) {
    if (child->kind == ExprKind::kStarred) {
      const SugaredValue inner = emit(*child->children[0]);
      for (const SugaredValue& item : items_of(inner, std::nullopt, child->span)) {
        items.push_back(value_of(item, child->span));
      }
    } else {
      items.push_back(emit_value(*child, element));
    }
  }
  if (!element) element = items.empty() ? types::tensor() : items[0]->type();
  for (const SsaValue* item : items) {
    const TypePtr wider = hinted ? nullptr : unify(element, item->type());
    if (wider) element = wider;
    if (!is_subtype(item->type(), element)) {
      fail(e, "a list of " + element->str() + " has an item of type " + item->type()->str());
    }
  }
  builder_.set_span(e.span);
  return builder_.value(prim::kListConstruct, std::move(items), types::list(element));
}

SsaValue* Emitter::emit_dict(const Expr& e, const TypePtr& hint) {
  const bool hinted = hint && hint->is(TypeKind::kDict);
  TypePtr key = hinted ? hint->element(0) : nullptr;
  TypePtr value = hinted ? hint->element(1) : nullptr;
  std::vector<SsaValue*> items;
  for (size_t i = 0; i < e.children.size(); ++i) {
    items.push_back(emit_value(*e.children[i], i % 2 == 0 ? key : value));
  }
  if (!hinted) {
    key = items.empty() ? types::string() : items[0]->type();
    value = items.empty() ? types::tensor() : items[1]->type();
    for (size_t i = 0; i < items.size(); ++i) {
      TypePtr& common = i % 2 == 0 ? key : value;
      if (TypePtr wider = unify(common, items[i]->type())) common = wider;
    }
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const TypePtr& wanted = i % 2 == 0 ? key : value;
    if (!is_subtype(items[i]->type(), wanted)) {
      fail(*e.children[i], "a dict of " + wanted->str() + (i % 2 == 0 ? " keys" : " values") +
                               " has one of type " + items[i]->type()->str());
    }
  }
  builder_.set_span(e.span);
  return builder_.value(prim::kDictConstruct, std::move(items), types::dict(key, value));
}

SsaValue* Emitter::emit_comprehension(const Expr& e, const TypePtr& hint) {
  const bool is_list = e.kind == ExprKind::kListComp;
  const size_t parts = is_list ? 1 : 2;  // element, or key and value
  const Iterable iterable = iterate(emit(*e.children[parts + 1]), e.span);
  const bool hinted = hint && hint->is(is_list ? TypeKind::kList : TypeKind::kDict);
  const TypePtr empty =
      is_list ? types::list(types::tensor()) : types::dict(types::string(), types::tensor());
  SsaValue* result = builder_.value(is_list ? prim::kListConstruct : prim::kDictConstruct, {},
                                    hinted ? hint : empty);
  bool typed = hinted;
  env_.push();  // its variables are its own
  emit_items(
      iterable, *e.children[parts],
      [&] {
        std::vector<SsaValue*> items;
        for (size_t i = 0; i < parts; ++i) items.push_back(emit_value(*e.children[i]));
        if (!typed) {
          result->set_type(is_list ? types::list(items[0]->type())
                                   : types::dict(items[0]->type(), items[1]->type()));
          typed = true;
        }
        items.insert(items.begin(), result);
        call_operator(Symbol(is_list ? "aten::append" : "aten::_set_item"), {nullptr, items, {}});
      },
      e.span);
  env_.pop();
  return result;
}

// Iteration.

std::vector<SugaredValue> Emitter::items_of(const SugaredValue& sugared,
                                            std::optional<size_t> expected, Span span) {
  std::vector<SugaredValue> items;
  if (const auto* several = std::get_if<Several>(&sugared)) {
    items.assign(several->values.begin(), several->values.end());
    return items;
  }
  if (const auto* iterable = std::get_if<std::shared_ptr<Iterable>>(&sugared)) {
    if ((*iterable)->static_length) {
      for (size_t i = 0; i < *(*iterable)->static_length; ++i) {
        items.push_back((*iterable)->static_item(i));
      }
      return items;
    }
  }
  SsaValue* value = value_of(sugared, span);
  const Type& type = *value->type();
  const Node* maker = value->node();
  if (type.is(TypeKind::kTuple) && maker->kind() == prim::kTupleConstruct) {
    items.assign(maker->inputs().begin(), maker->inputs().end());
    return items;
  }
  if (type.is(TypeKind::kTuple)) {
    Node* node = builder_.node(prim::kTupleUnpack, {value});
    for (const TypePtr& element : type.elements()) items.push_back(node->add_output(element));
    return items;
  }
  if (expected && (type.is(TypeKind::kList) || type.is(TypeKind::kUnknown))) {
    const bool list = type.is(TypeKind::kList);
    Node* node = builder_.node(list ? prim::kListUnpack : prim::kTupleUnpack, {value});
    for (size_t i = 0; i < *expected; ++i) {
      items.push_back(node->add_output(list ? type.element(0) : types::unknown()));
    }
    return items;
  }
  if (expected && type.is(TypeKind::kTensor)) {
    SsaValue* list = call_operator_value("aten::unbind", {value, builder_.integer(0)});
    return items_of(list, expected, span);
  }
  fail(span, "a " + type.str() + " cannot be taken apart here");
}

Iterable Emitter::iterate(const SugaredValue& sugared, Span span) {
  if (const auto* iterable = std::get_if<std::shared_ptr<Iterable>>(&sugared)) return **iterable;
  if (const auto* class_ref = std::get_if<ClassRef>(&sugared)) {
    const EnumType* type = class_ref->type->as_enum();
    if (!type) fail(span, "a class cannot be iterated over");
    std::vector<Value> members;
    for (const auto& [name, value] : type->members()) {
      members.push_back(Value(make_ref<EnumValue>(class_ref->type, name, value)));
    }
    return iterate(builder_.constant(make_list(class_ref->type, std::move(members))), span);
  }
  if (std::holds_alternative<Several>(sugared) ||
      value_of(sugared, span)->type()->is(TypeKind::kTuple)) {
    auto items = std::make_shared<std::vector<SugaredValue>>(items_of(sugared, std::nullopt, span));
    Iterable iterable;
    iterable.static_length = items->size();
    iterable.static_item = [items](size_t i) { return (*items)[i]; };
    return iterable;
  }
  SsaValue* value = value_of(sugared, span);
  switch (value->type()->kind()) {
    case TypeKind::kDict:
      return iterate(call_operator_value("aten::keys", {value}), span);
    case TypeKind::kList:
    case TypeKind::kString:
    case TypeKind::kTensor:
    case TypeKind::kUnknown:
      break;
    default:
      fail(span, "a " + value->type()->str() + " cannot be iterated over");
  }
  Iterable iterable;
  iterable.length = [this, value] { return call_operator_value("aten::len", {value}); };
  iterable.item = [this, value, span](SsaValue* i) -> SugaredValue {
    if (value->type()->is(TypeKind::kTensor)) {
      return call_operator_value("aten::select", {value, builder_.integer(0), i});
    }
    return item(value, i, nullptr, span);
  };
  return iterable;
}

Iterable Emitter::iterate_range(const std::vector<SsaValue*>& bounds, Span span) {
  if (bounds.empty() || bounds.size() > 3) fail(span, "range() takes one to three bounds");
  for (const SsaValue* bound : bounds) {
    if (!is_subtype(bound->type(), types::integer())) {
      fail(span, "a bound of range() is a " + bound->type()->str() + ", not an int");
    }
  }
  Iterable iterable;
  if (bounds.size() == 1) {
    SsaValue* stop = bounds[0];
    iterable.length = [stop] { return stop; };
    iterable.item = [](SsaValue* i) -> SugaredValue { return i; };
    return iterable;
  }
  SsaValue* start = bounds[0];
  SsaValue* stop = bounds[1];
  SsaValue* step = bounds.size() > 2 ? bounds[2] : builder_.integer(1);
  iterable.length = [this, start, stop, step] {
    return call_operator_value("aten::__range_length", {start, stop, step});
  };
  iterable.item = [this, start, step](SsaValue* i) -> SugaredValue {
    return call_operator_value("aten::__derive_index", {i, start, step});
  };
  return iterable;
}

}  // namespace torchlet::script
