// Branches, conditions and loops.
#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "script/emitter.h"
#include "script/flags.h"
#include "script/syntax.h"

namespace torchlet::script {

// Conditions.

Emitter::Condition Emitter::emit_condition(const Expr& e) {
  switch (e.kind) {
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return emit_logical(e);
    case ExprKind::kNot: {
      Condition inner = emit_condition(*e.children[0]);
      std::swap(inner.if_true, inner.if_false);
      if (inner.known) {
        inner.known = !*inner.known;
        inner.value = builder_.boolean(*inner.known);
      } else {
        inner.value = call_operator_value("aten::__not__", {inner.value});
      }
      return inner;
    }
    case ExprKind::kBinary:
      if (e.op == ExprOp::kIs || e.op == ExprOp::kIsNot) return emit_is(e);
      break;
    case ExprKind::kCall:
      if (e.children[0]->kind == ExprKind::kName && e.children[0]->text == "isinstance" &&
          !env_.find("isinstance")) {
        return emit_is_instance(e);
      }
      break;
    default:
      break;
  }
  Condition condition;
  condition.value = to_bool(e, emit_value(e));
  if (const Value* known = Builder::constant_value(condition.value)) {
    condition.known = known->to_bool();
  }
  return condition;
}

SsaValue* Emitter::to_bool(const Expr& place, SsaValue* value) {
  switch (value->type()->kind()) {
    case TypeKind::kBool:
    case TypeKind::kUnknown:
      return value;
    case TypeKind::kTensor:
    case TypeKind::kInt:
    case TypeKind::kFloat:
      return call_operator_value("aten::Bool", {value});
    case TypeKind::kClass:
      return call_method(value, "__bool__", {}, place.span);
    default:
      fail(place, "a " + value->type()->str() + " is no condition");
  }
}

namespace {

enum class Noneness { kNever, kMaybe, kAlways };

Noneness noneness(const SsaValue* value) {
  const Value* constant = Builder::constant_value(value);
  if (constant) return constant->is_none() ? Noneness::kAlways : Noneness::kNever;
  switch (value->type()->kind()) {
    case TypeKind::kNone:
      return Noneness::kAlways;
    case TypeKind::kOptional:
    case TypeKind::kUnion:
    case TypeKind::kAny:
    case TypeKind::kUnknown:
    case TypeKind::kVar:
      return Noneness::kMaybe;
    default:
      return Noneness::kNever;
  }
}

// What is left of an Optional or Union when it is not None.
TypePtr without_none(const TypePtr& type) {
  if (type->is(TypeKind::kOptional)) return type->element(0);
  if (!type->is(TypeKind::kUnion)) return nullptr;
  std::vector<TypePtr> rest;
  for (const TypePtr& member : type->elements()) {
    if (!member->is(TypeKind::kNone)) rest.push_back(member);
  }
  return types::union_of(std::move(rest));
}

}  // namespace

Emitter::Condition Emitter::emit_is(const Expr& e) {
  const bool positive = e.op == ExprOp::kIs;
  SsaValue* left = emit_value(*e.children[0]);
  SsaValue* right = emit_value(*e.children[1]);
  Condition condition;
  const Noneness a = noneness(left);
  const Noneness b = noneness(right);
  if (a == Noneness::kAlways && b == Noneness::kAlways) {
    condition.known = positive;
  } else if ((a == Noneness::kAlways && b == Noneness::kNever) ||
             (a == Noneness::kNever && b == Noneness::kAlways)) {
    condition.known = !positive;
  }
  if (condition.known) {
    condition.value = builder_.boolean(*condition.known);
    return condition;
  }
  condition.value =
      call_operator_value(positive ? "aten::__is__" : "aten::__isnot__", {left, right});
  const bool none_on_the_left = e.children[0]->kind == ExprKind::kNone;
  const Expr& variable = *e.children[none_on_the_left ? 1 : 0];
  const Expr& none = *e.children[none_on_the_left ? 0 : 1];
  if (none.kind == ExprKind::kNone && variable.kind == ExprKind::kName) {
    if (TypePtr present = without_none((none_on_the_left ? right : left)->type())) {
      (positive ? condition.if_false : condition.if_true).push_back({variable.text, present});
    }
  }
  return condition;
}

namespace {

bool has_unknown(const Type& type) {
  return type.is(TypeKind::kUnknown) ||
         std::ranges::any_of(type.elements(), [](const TypePtr& t) { return has_unknown(*t); });
}

}  // namespace

Emitter::Condition Emitter::emit_is_instance(const Expr& call) {
  expect_arguments(call, 2, 2);
  SsaValue* value = emit_value(*call.children[1]);
  std::vector<TypePtr> candidates;
  const Expr& classes = *call.children[2];
  if (classes.kind == ExprKind::kTuple) {
    for (const ExprPtr& item : classes.children) candidates.push_back(type_of(*item));
  } else {
    candidates.push_back(type_of(classes));
  }

  Condition condition;
  const TypePtr& type = value->type();
  const auto any_candidate = [&](auto&& test) { return std::ranges::any_of(candidates, test); };
  if (!has_unknown(*type)) {
    // An Any, list or tuple category may hold at run time though it is no subtype.
    const bool vague = type->is(TypeKind::kAny) || type->is(TypeKind::kOptional) ||
                       type->is(TypeKind::kUnion) || type->is(TypeKind::kNumber) ||
                       type->is(TypeKind::kInterface);
    if (any_candidate([&](const TypePtr& t) { return is_subtype(type, t); })) {
      condition.known = true;
    } else if (!vague && !any_candidate([&](const TypePtr& t) { return is_subtype(t, type); })) {
      condition.known = false;
    }
  }
  if (condition.known) {
    condition.value = builder_.boolean(*condition.known);
  } else {
    condition.value = builder_.value(prim::kIsInstance, {value}, types::boolean());
    condition.value->node()->set_attribute("types", types::tuple(candidates));
  }
  if (candidates.size() == 1 && call.children[1]->kind == ExprKind::kName &&
      is_subtype(candidates[0], type) && !has_unknown(*type)) {
    condition.if_true.push_back({call.children[1]->text, candidates[0]});
  }
  return condition;
}

namespace {

// What holds when one of two conditions does: the refinements that both agree on.
template <typename Refinements>
Refinements common(const Refinements& a, const Refinements& b) {
  Refinements out;
  for (const auto& r : a) {
    for (const auto& s : b) {
      if (r.name == s.name && equal(r.type, s.type)) out.push_back(r);
    }
  }
  return out;
}

}  // namespace

Emitter::Condition Emitter::emit_logical(const Expr& e) {
  const bool is_or = e.kind == ExprKind::kOr;
  Condition left = emit_condition(*e.children[0]);
  if (left.known) {
    if (*left.known == is_or) return left;
    return emit_condition(*e.children[1]);
  }
  Condition right;
  const auto constant = [&] { return builder_.boolean(is_or); };
  const auto second = [&] {
    right = emit_condition(*e.children[1]);
    return right.value;
  };
  Condition result;
  result.value = is_or ? emit_choice(left, constant, second, e.span)
                       : emit_choice(left, second, constant, e.span);
  if (right.known == is_or) result.known = is_or;
  if (is_or) {
    result.if_true = common(left.if_true, right.if_true);
    result.if_false = left.if_false;
    result.if_false.insert(result.if_false.end(), right.if_false.begin(), right.if_false.end());
  } else {
    result.if_true = left.if_true;
    result.if_true.insert(result.if_true.end(), right.if_true.begin(), right.if_true.end());
    result.if_false = common(left.if_false, right.if_false);
  }
  return result;
}

void Emitter::refine(const std::vector<Refinement>& refinements) {
  for (const Refinement& r : refinements) {
    const SugaredValue* sugared = env_.find(r.name);
    SsaValue* const* value = sugared ? std::get_if<SsaValue*>(sugared) : nullptr;
    if (!value || equal((*value)->type(), r.type)) continue;
    env_.assign(r.name, builder_.value(prim::kUncheckedCast, {*value}, r.type));
  }
}

SsaValue* Emitter::emit_choice(const Condition& condition, FunctionRef<SsaValue*()> if_true,
                               FunctionRef<SsaValue*()> if_false, Span span) {
  if (condition.known) return *condition.known ? if_true() : if_false();
  Node* node = builder_.node(prim::kIf, {condition.value});
  SsaValue* a = nullptr;
  SsaValue* b = nullptr;
  emit_branch(node, condition.if_true, [&] {
    a = if_true();
    return Exit::kNever;
  });
  emit_branch(node, condition.if_false, [&] {
    b = if_false();
    return Exit::kNever;
  });
  const TypePtr type = unify(a->type(), b->type());
  if (!type) {
    fail(span, "one way this is a " + a->type()->str() + ", the other way a " + b->type()->str());
  }
  node->block(0)->add_output(a);
  node->block(1)->add_output(b);
  return node->add_output(type);
}

// Branches.

Emitter::Exit Emitter::emit_if(const Stmt& s, const Body& following, size_t from,
                               bool* took_following) {
  const Condition condition = emit_condition(*s.value);
  if (condition.known) {
    refine(*condition.known ? condition.if_true : condition.if_false);
    return emit_statements(*condition.known ? s.body : s.orelse);
  }
  // `if c: return a` followed by b means `if c: return a else: b`.
  const bool a_leaves = always_leaves(s.body);
  const bool b_leaves = always_leaves(s.orelse);
  *took_following = a_leaves != b_leaves && from < following.size();
  const auto emit_side = [&](const Body& body, bool leaves) {
    Exit exit = emit_statements(body);
    if (!*took_following || leaves || ends(exit)) return exit;
    return exit == Exit::kNever ? emit_statements(following, from)
                                : emit_rest_if_staying(following, from);
  };
  Node* node = builder_.node(prim::kIf, {condition.value});
  Branch a = emit_branch(node, condition.if_true, [&] { return emit_side(s.body, a_leaves); });
  Branch b = emit_branch(node, condition.if_false, [&] { return emit_side(s.orelse, b_leaves); });
  a.jumps = has_jump(s.body);
  b.jumps = has_jump(s.orelse);
  builder_.set_span(s.span);
  merge(node, a, b);
  return either(a.exit, b.exit);
}

Emitter::Branch Emitter::emit_branch(Node* node, const std::vector<Refinement>& refinements,
                                     FunctionRef<Exit()> body) {
  Branch branch;
  branch.block = node->add_block();
  const Builder::InBlock in_block(builder_, branch.block);
  env_.push();  // what is refined here is no assignment, so it is not merged
  refine(refinements);
  env_.push();
  branch.exit = body();
  branch.scope = env_.pop();
  env_.pop();
  return branch;
}

void Emitter::merge(Node* node, Branch& a, Branch& b) {
  std::unordered_set<std::string_view> merged;  // what is deleted and assigned again comes twice
  for (const Branch* branch : {&a, &b}) {
    for (const std::string& name : branch->scope.order) {
      if (branch->scope.names.contains(name) && merged.insert(name).second) {
        merge_variable(node, name, a, b);
      }
    }
  }
}

void Emitter::merge_variable(Node* node, const std::string& name, Branch& a, Branch& b) {
  const auto find = [&](const Branch& branch) -> const SugaredValue* {
    const auto found = branch.scope.names.find(name);
    return found != branch.scope.names.end() ? &found->second : env_.find(name);
  };
  const SugaredValue* in_a = find(a);
  const SugaredValue* in_b = find(b);
  const auto undefined = [&](const Branch& branch, const char* which) {
    const auto problem = branch.scope.problems.find(name);
    env_.set_problem(name, problem != branch.scope.problems.end()
                               ? problem->second
                               : "'" + name + "' is not defined in the " + which + " branch");
  };
  if (!in_a && !ends(a.exit)) return undefined(a, "true");
  if (!in_b && !ends(b.exit)) return undefined(b, "false");

  const auto value_in = [](const SugaredValue* sugared) {
    SsaValue* const* value = sugared ? std::get_if<SsaValue*>(sugared) : nullptr;
    return value ? *value : nullptr;
  };
  SsaValue* value_a = value_in(in_a);
  SsaValue* value_b = value_in(in_b);
  if ((in_a && !value_a) || (in_b && !value_b)) {
    // A function or a class: not worth more than passing it on when that is safe.
    const SugaredValue& sugared = in_a ? *in_a : *in_b;
    const bool global =
        std::holds_alternative<FunctionValue>(sugared) || std::holds_alternative<ClassRef>(sugared);
    if (global && (!in_a || !in_b || in_a->index() == in_b->index())) env_.assign(name, sugared);
    return;
  }
  const auto uninitialized = [&](const Branch& branch, const TypePtr& type) {
    const Builder::InBlock in_block(builder_, branch.block);
    return builder_.value(prim::kUninitialized, {}, type);
  };
  // Behind a return or a raise a variable has no value worth a type of its own.
  const auto is_void = [&](const Branch& branch, const SsaValue* own, const SsaValue* other) {
    if (!ends(branch.exit)) return false;
    return !own || (!branch.jumps && other && !equal(own->type(), other->type()));
  };
  if (is_void(a, value_a, value_b)) {
    value_a = uninitialized(a, value_b->type());
  } else if (is_void(b, value_b, value_a)) {
    value_b = uninitialized(b, value_a->type());
  }
  if (value_a == value_b) {
    env_.assign(name, value_a);
    return;
  }
  const TypePtr type = unify(value_a->type(), value_b->type());
  if (!type) {
    const std::string text = "'" + name + "' is a " + value_a->type()->str() +
                             " in the true branch and a " + value_b->type()->str() +
                             " in the false branch";
    if (env_.find(name)) fail(builder_.span(), text);
    env_.set_problem(name, text);
    return;
  }
  a.block->add_output(value_a);
  b.block->add_output(value_b);
  env_.assign(name, node->add_output(type, name[0] == '_' ? "" : name));
}

Emitter::Exit Emitter::emit_rest_if_staying(const Body& body, size_t from) {
  if (from >= body.size()) return Exit::kMaybe;
  const SugaredValue* flag = env_.find(loop_depth_ > 0 ? kLeft : kReturned);
  Node* node = builder_.node(prim::kIf, {value_of(*flag, body[from]->span)});
  Branch left = emit_branch(node, {}, [] { return Exit::kAlways; });
  Branch rest = emit_branch(node, {}, [&] { return emit_statements(body, from); });
  left.jumps = loop_depth_ > 0;
  merge(node, left, rest);
  return either(left.exit, rest.exit);
}

// Loops.

Emitter::Exit Emitter::emit_while(const Stmt& s) {
  const auto condition = [&] { return to_bool(*s.value, emit_condition(*s.value).value); };
  SsaValue* most = builder_.integer(std::numeric_limits<int64_t>::max());
  return emit_loop(
      most, condition(), s.body, assigned_names(s.body), [](SsaValue*) {}, condition);
}

Emitter::Exit Emitter::emit_for(const Stmt& s) {
  const Expr& target = *s.targets[0];
  const Iterable iterable = iterate(emit(*s.value), s.span);
  if (iterable.static_length) {
    if (has_jump(s.body) || has_return(s.body)) {
      fail(s.span, "a loop over a tuple cannot be left early");
    }
    for (size_t i = 0; i < *iterable.static_length; ++i) {
      builder_.count_unrolled();
      assign(target, iterable.static_item(i));
      emit_statements(s.body);
    }
    return Exit::kNever;
  }
  return emit_loop(
      iterable.length(), builder_.boolean(true), s.body, assigned_names(s.body),
      [&](SsaValue* trip) { assign(target, iterable.item(trip)); },
      [&] { return builder_.boolean(true); });
}

Emitter::Exit Emitter::emit_loop(SsaValue* most, SsaValue* first, const Body& body,
                                 std::vector<std::string> assigned,
                                 FunctionRef<void(SsaValue* trip)> head,
                                 FunctionRef<SsaValue*()> again) {
  const bool returns = has_return(body);
  const bool leaves = returns || has_jump(body);
  if (returns) assigned.insert(assigned.end(), {kReturned, kResult});

  Node* loop = builder_.node(prim::kLoop, {most, first});
  Block* block = loop->add_block();
  SsaValue* trip = block->add_input(types::integer());
  std::vector<std::string> carried;
  env_.push();
  for (const std::string& name : assigned) {
    const SugaredValue* outer = env_.find(name);
    SsaValue* const* value = outer ? std::get_if<SsaValue*>(outer) : nullptr;
    if (!value) continue;
    carried.push_back(name);
    loop->add_input(*value);
    const std::string hint = name[0] == '_' || name[0] == '$' ? "" : name;
    env_.assign(name, block->add_input((*value)->type(), hint));
  }
  ++loop_depth_;
  {
    const Builder::InBlock in_block(builder_, block);
    if (leaves) {
      env_.assign(kLeft, builder_.boolean(false));
      env_.assign(kBroke, builder_.boolean(false));
    }
    head(trip);
    const Span span = builder_.span();
    emit_statements(body);
    builder_.set_span(span);
    Condition broke;
    broke.value = leaves ? value_of(*env_.find(kBroke), span) : nullptr;
    broke.known = leaves ? std::nullopt : std::optional(false);
    block->add_output(emit_choice(
        broke, [&] { return builder_.boolean(false); }, again, span));
    for (size_t i = 0; i < carried.size(); ++i) {
      const TypePtr& type = block->inputs()[i + 1]->type();
      const SugaredValue* sugared = env_.find(carried[i]);
      if (!sugared) fail(span, "'" + carried[i] + "' is deleted in the loop");
      SsaValue* value = value_of(*sugared, span);
      value = convert(builder_, value, type, true);
      if (!is_subtype(value->type(), type)) {
        fail(span, "'" + carried[i] + "' is a " + type->str() + " before the loop and a " +
                       value->type()->str() + " in it");
      }
      block->add_output(value);
    }
  }
  --loop_depth_;
  env_.pop();
  for (size_t i = 0; i < carried.size(); ++i) {
    const SsaValue* input = block->inputs()[i + 1];
    env_.assign(carried[i], loop->add_output(input->type(), input->name()));
  }
  if (!returns) return Exit::kNever;
  if (loop_depth_ > 0) {
    // A return ends the loops around this one too.
    const SugaredValue returned = *env_.find(kReturned);
    env_.assign(kLeft, returned);
    env_.assign(kBroke, returned);
  }
  return Exit::kMaybe;
}

void Emitter::emit_items(const Iterable& iterable, const Expr& target, FunctionRef<void()> body,
                         Span span) {
  if (iterable.static_length) {
    for (size_t i = 0; i < *iterable.static_length; ++i) {
      builder_.count_unrolled();
      assign(target, iterable.static_item(i));
      body();
    }
    return;
  }
  builder_.set_span(span);
  Node* loop = builder_.node(prim::kLoop, {iterable.length(), builder_.boolean(true)});
  Block* block = loop->add_block();
  const Builder::InBlock in_block(builder_, block);
  assign(target, iterable.item(block->add_input(types::integer())));
  body();
  block->add_output(builder_.boolean(true));
}

}  // namespace torchlet::script
