#include "base/error.h"
#include "graph/prim_kinds.h"
#include "script/emitter.h"
#include "script/flags.h"
#include "script/syntax.h"

namespace torchlet::script {

Emitter::Exit Emitter::emit_statements(const Body& body, size_t from) {
  for (size_t i = from; i < body.size(); ++i) {
    const Stmt& s = *body[i];
    const CompilationUnit::Nested nested(unit_, *builder_.source(), s.span);
    builder_.set_span(s.span);
    if (s.kind == StmtKind::kIf) {
      bool took_following = false;
      const Exit exit = emit_if(s, body, i + 1, &took_following);
      if (took_following || ends(exit)) return exit;
      if (exit == Exit::kMaybe) return emit_rest_if_staying(body, i + 1);
      continue;
    }
    const Exit exit = emit_statement(s);
    if (ends(exit)) return exit;
    if (exit == Exit::kMaybe) return emit_rest_if_staying(body, i + 1);
  }
  return Exit::kNever;
}

Emitter::Exit Emitter::emit_statement(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::kExpr:
      emit(*s.value);
      return Exit::kNever;
    case StmtKind::kAssign:
      emit_assign(s);
      return Exit::kNever;
    case StmtKind::kAugAssign:
      emit_aug_assign(s);
      return Exit::kNever;
    case StmtKind::kWhile:
      return emit_while(s);
    case StmtKind::kFor:
      return emit_for(s);
    case StmtKind::kReturn:
      return emit_return(s);
    case StmtKind::kRaise:
      emit_raise(s);
      return Exit::kRaises;
    case StmtKind::kAssert:
      emit_assert(s);
      return Exit::kNever;
    case StmtKind::kDelete:
      emit_delete(s);
      return Exit::kNever;
    case StmtKind::kBreak:
    case StmtKind::kContinue:
      if (loop_depth_ == 0) fail(s.span, "break or continue outside a loop");
      leave(/*returned=*/false, /*broke=*/s.kind == StmtKind::kBreak);
      return Exit::kAlways;
    case StmtKind::kWith:
      return emit_with(s);
    case StmtKind::kDef:
      env_.assign(s.function->name, ClosureRef{s.function.get()});
      return Exit::kNever;
    case StmtKind::kPass:
    case StmtKind::kIf:  // emit_statements
      break;
  }
  return Exit::kNever;
}

void Emitter::emit_assign(const Stmt& s) {
  if (!s.value) fail(s.span, "an assignment without a value");
  TypePtr annotated = s.type ? type_of(*s.type) : nullptr;
  const size_t first_own_value = builder_.graph().num_values();
  SugaredValue sugared = emit(*s.value, annotated);
  if (annotated) {
    SsaValue* value = convert(builder_, value_of(sugared, s.span), annotated, true);
    if (!is_subtype(value->type(), annotated)) {
      fail(s.span,
           "a " + value->type()->str() + " is assigned to a variable of type " + annotated->str());
    }
    if (Builder::constant_value(value) && value->type()->is(TypeKind::kNone)) {
      value = builder_.constant(Value(), annotated);
    } else if (!equal(value->type(), annotated)) {
      value = builder_.value(prim::kUncheckedCast, {value}, annotated);
    }
    sugared = value;
  }
  first_own_value_ = first_own_value;
  for (const ExprPtr& target : s.targets) assign(*target, sugared);
  first_own_value_ = 0;
}

void Emitter::assign(const Expr& target, const SugaredValue& sugared) {
  switch (target.kind) {
    case ExprKind::kName:
      assign_name(target, sugared);
      break;
    case ExprKind::kAttribute:
      set_attribute(target, value_of(sugared, target.span));
      break;
    case ExprKind::kSubscript:
      set_item(target, value_of(sugared, target.span));
      break;
    case ExprKind::kTuple:
    case ExprKind::kList:
      assign_tuple(target, sugared);
      break;
    default:
      fail(target, "this cannot be assigned to");
  }
}

void Emitter::assign_name(const Expr& target, SugaredValue sugared) {
  if (std::holds_alternative<Several>(sugared)) sugared = value_of(sugared, target.span);
  SsaValue** value = std::get_if<SsaValue*>(&sugared);
  const SugaredValue* outer = env_.find_outside(target.text);
  if (value && outer && std::holds_alternative<SsaValue*>(*outer)) {
    // The variable lives in an enclosing block, which has settled its type.
    const TypePtr& type = std::get<SsaValue*>(*outer)->type();
    *value = convert(builder_, *value, type, true);
  }
  if (value && (*value)->name().empty() && target.text[0] != '_' &&
      (*value)->id() >= first_own_value_ && !Builder::constant_value(*value)) {
    (*value)->set_name(target.text);
  }
  env_.assign(target.text, std::move(sugared));
}

void Emitter::assign_tuple(const Expr& target, const SugaredValue& sugared) {
  const std::vector<ExprPtr>& targets = target.children;
  std::optional<size_t> star;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i]->kind != ExprKind::kStarred) continue;
    if (star) fail(target, "only one target of an assignment may be starred");
    star = i;
  }
  const std::vector<SugaredValue> items =
      items_of(sugared, star ? std::nullopt : std::optional(targets.size()), target.span);
  const size_t fixed = targets.size() - (star ? 1 : 0);
  if (items.size() < fixed || (!star && items.size() > fixed)) {
    fail(target, std::to_string(items.size()) + " values are assigned to " +
                     std::to_string(targets.size()) + " targets");
  }
  const size_t starred = items.size() - fixed;
  size_t next = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (star != i) {
      assign(*targets[i], items[next++]);
      continue;
    }
    std::vector<SsaValue*> values;
    std::vector<TypePtr> value_types;
    for (size_t k = 0; k < starred; ++k) {
      values.push_back(value_of(items[next++], target.span));
      value_types.push_back(values.back()->type());
    }
    assign(*targets[i]->children[0], builder_.value(prim::kTupleConstruct, std::move(values),
                                                    types::tuple(std::move(value_types))));
  }
}

void Emitter::set_attribute(const Expr& target, SsaValue* value) {
  SsaValue* object = emit_value(*target.children[0]);
  if (const ClassType* type = object->type()->as_class()) {
    const std::optional<size_t> slot = type->find_attribute(target.text);
    if (!slot) fail(target, type->name() + " has no attribute '" + target.text + "'");
    const TypePtr& wanted = type->attributes()[*slot].type;
    value = convert(builder_, value, wanted, true);
    if (!is_subtype(value->type(), wanted)) {
      fail(target, "the attribute '" + target.text + "' is a " + wanted->str() + ", not a " +
                       value->type()->str());
    }
  } else if (!object->type()->is(TypeKind::kUnknown)) {
    fail(target, "a " + object->type()->str() + " has no attributes to set");
  }
  builder_.node(prim::kSetAttr, {object, value})->set_attribute("name", target.text);
}

namespace {

// The operator of `a op= b`; in place for tensors and lists.
const char* augmented_operator(ExprOp op, bool in_place) {
  switch (op) {
    case ExprOp::kAdd:
      return in_place ? "aten::add_" : "aten::add";
    case ExprOp::kSub:
      return in_place ? "aten::sub_" : "aten::sub";
    case ExprOp::kMul:
      return in_place ? "aten::mul_" : "aten::mul";
    case ExprOp::kDiv:
      return in_place ? "aten::div_" : "aten::div";
    case ExprOp::kMod:
      return in_place ? "aten::fmod_" : "aten::fmod";
    case ExprOp::kBitOr:
      return in_place ? "aten::bitwise_or" : "aten::__or__";
    case ExprOp::kBitAnd:
      return in_place ? "aten::bitwise_and" : "aten::__and__";
    case ExprOp::kBitXor:
      return in_place ? "aten::bitwise_xor" : "aten::__xor__";
    case ExprOp::kShiftLeft:
      return "aten::__lshift__";
    case ExprOp::kShiftRight:
      return in_place ? "aten::__irshift__" : "aten::__rshift__";
    case ExprOp::kPow:
      return "aten::pow";
    case ExprOp::kFloorDiv:
      return "aten::floordiv";
    default:
      return nullptr;
  }
}

}  // namespace

void Emitter::emit_aug_assign(const Stmt& s) {
  const Expr& target = *s.targets[0];
  SsaValue* before = emit_value(target);
  SsaValue* operand = emit_value(*s.value);
  const bool in_place =
      before->type()->is(TypeKind::kTensor) || before->type()->is(TypeKind::kList);
  const char* name = augmented_operator(s.op, in_place);
  if (!name) fail(s.span, "TorchScript does not have this augmented assignment");
  SsaValue* after = call_operator_value(name, {before, operand});
  const bool changed_in_place = in_place && std::string_view(name).ends_with("_");
  // x[i] += y on a tensor has changed x through the view x[i].
  if (target.kind == ExprKind::kSubscript && changed_in_place &&
      before->node()->kind() != Symbol("aten::index")) {
    return;
  }
  assign(target, after);
}

void Emitter::emit_delete(const Stmt& s) {
  for (const ExprPtr& target : s.targets) {
    if (target->kind == ExprKind::kName) {
      if (!env_.erase(target->text)) fail(*target, "there is no variable '" + target->text + "'");
      continue;
    }
    if (target->kind != ExprKind::kSubscript || target->children.size() != 2) {
      fail(*target, "only variables and single items of lists and dicts can be deleted");
    }
    SsaValue* container = emit_value(*target->children[0]);
    SsaValue* key = emit_value(*target->children[1]);
    if (container->type()->as_class()) {
      call_method(container, "__delitem__", {nullptr, {key}, {}}, target->span);
    } else {
      call_operator(Symbol("aten::Delete"), {nullptr, {container, key}, {}});
    }
  }
}

Emitter::Exit Emitter::emit_with(const Stmt& s) {
  std::vector<SsaValue*> entered;
  for (const WithItem& item : s.items) {
    SsaValue* object = emit_value(*item.context);
    const ClassType* type = object->type()->as_class();
    Function* enter = type ? type->find_method("__enter__") : nullptr;
    if (!object->type()->is(TypeKind::kUnknown) && (!enter || !type->find_method("__exit__"))) {
      fail(*item.context, "a " + object->type()->str() + " has no __enter__ and __exit__");
    }
    const TypePtr result = enter ? enter->schema().returns[0].type : types::unknown();
    SsaValue* value = builder_.value(prim::kEnter, {object}, result);
    entered.push_back(object);
    if (item.target) assign(*item.target, value);
  }
  const Exit exit = emit_statements(s.body);
  while (!entered.empty()) {
    builder_.node(prim::kExit, {entered.back()});
    entered.pop_back();
  }
  return exit;
}

Emitter::Exit Emitter::emit_return(const Stmt& s) {
  SsaValue* value = s.value ? emit_value(*s.value, declared_return_) : builder_.none();
  if (declared_return_) {
    value = convert(builder_, value, declared_return_, true);
    if (value->type()->is(TypeKind::kInt) && declared_return_->is(TypeKind::kFloat)) {
      // PyTorch prints whole floats from 1e10 on without a dot; read back, they are ints.
      value = call_operator_value("aten::Float", {value});
    }
    if (!is_subtype(value->type(), declared_return_)) {
      fail(s.span, "a " + value->type()->str() + " is returned by a function of type " +
                       declared_return_->str());
    }
  }
  env_.assign(kResult, value);
  if (early_returns_) leave(/*returned=*/true, /*broke=*/true);
  return Exit::kAlways;
}

void Emitter::leave(bool returned, bool broke) {
  if (returned) env_.assign(kReturned, builder_.boolean(true));
  if (loop_depth_ == 0) return;
  env_.assign(kLeft, builder_.boolean(true));
  if (broke) env_.assign(kBroke, builder_.boolean(true));
}

void Emitter::emit_raise(const Stmt& s) {
  const SugaredValue sugared = emit(*s.value);
  const auto* exception = std::get_if<ExceptionRef>(&sugared);
  if (!exception) fail(s.span, "only exceptions can be raised");
  SsaValue* message = exception->message;
  if (!message) message = builder_.constant(Value(""));
  if (!message->type()->is(TypeKind::kString)) {
    message = call_operator_value("aten::str", {message});
  }
  builder_.node(prim::kRaiseException,
                {message, builder_.constant(Value("builtins." + exception->class_name))});
}

void Emitter::emit_assert(const Stmt& s) {
  const Condition condition = emit_condition(*s.value);
  Node* node = builder_.node(prim::kIf, {condition.value});
  emit_branch(node, {}, [] { return Exit::kNever; });
  emit_branch(node, condition.if_false, [&] {
    SsaValue* text = s.message ? emit_value(*s.message) : builder_.constant(Value(""));
    if (!text->type()->is(TypeKind::kString)) text = call_operator_value("aten::str", {text});
    text = call_operator_value("aten::add", {builder_.constant(Value("AssertionError: ")), text});
    builder_.node(prim::kRaiseException, {text, builder_.none()});
    return Exit::kRaises;
  });
  refine(condition.if_true);
}

}  // namespace torchlet::script
