// Calls: of operators, functions, methods, classes and the special forms of TorchScript.
#include <algorithm>

#include "base/error.h"
#include "graph/operator.h"
#include "graph/prim_kinds.h"
#include "script/builtins.h"
#include "script/emitter.h"
#include "script/upgraders.h"
#include "tensor/scalar.h"

namespace torchlet::script {

SugaredValue Emitter::emit_call(const Expr& e, const TypePtr& hint) {
  const SugaredValue callee = emit(*e.children[0]);
  if (const auto* form = std::get_if<SpecialForm>(&callee)) {
    builder_.set_span(e.span);
    return emit_special(*form, e);
  }
  if (const auto* to_list = std::get_if<ToListRef>(&callee)) {
    if (!hint) fail(e, "tolist() needs an annotation that says how deep the list is");
    builder_.set_span(e.span);
    return builder_.value(prim::kToList, {to_list->tensor}, hint);
  }
  if (const auto* made = std::get_if<NewRef>(&callee)) {
    builder_.set_span(e.span);
    return builder_.value(prim::kCreateObject, {}, made->type);
  }
  CallArguments arguments = emit_arguments(e);
  builder_.set_span(e.span);
  return call(callee, std::move(arguments), e.span);
}

CallArguments Emitter::emit_arguments(const Expr& call, size_t from) {
  CallArguments arguments;
  for (size_t i = from; i < call.children.size(); ++i) {
    const Expr& child = *call.children[i];
    if (child.kind != ExprKind::kStarred) {
      arguments.positional.push_back(emit_value(child));
      continue;
    }
    const SugaredValue inner = emit(*child.children[0]);
    for (const SugaredValue& item : items_of(inner, std::nullopt, child.span)) {
      arguments.positional.push_back(value_of(item, child.span));
    }
  }
  for (const Keyword& keyword : call.keywords) {
    arguments.keywords.emplace_back(keyword.name, emit_value(*keyword.value));
  }
  return arguments;
}

SugaredValue Emitter::call(const SugaredValue& callee, CallArguments arguments, Span span) {
  if (const auto* op = std::get_if<OperatorRef>(&callee)) {
    arguments.self = op->self;
    return call_operator(op->name, arguments);
  }
  if (const auto* function = std::get_if<FunctionValue>(&callee)) {
    return call_function(function->function, arguments, span);
  }
  if (const auto* method = std::get_if<MethodRef>(&callee)) {
    return call_method(method->self, method->name, arguments, span);
  }
  if (const auto* class_ref = std::get_if<ClassRef>(&callee)) {
    return construct(class_ref->type, arguments, span);
  }
  if (const auto* closure = std::get_if<ClosureRef>(&callee)) return inline_closure(*closure, span);
  if (const auto* exception = std::get_if<ExceptionRef>(&callee)) {
    ExceptionRef raised = *exception;
    if (!arguments.positional.empty()) raised.message = arguments.positional[0];
    return raised;
  }
  SsaValue* value = value_of(callee, span);
  if (value->type()->as_class()) return call_method(value, "__call__", arguments, span);
  fail(span, "a " + value->type()->str() + " cannot be called");
}

// Operators.

namespace {

bool has_unknown(const CallArguments& arguments) {
  const auto is_unknown = [](const SsaValue* value) {
    return value && value->type()->is(TypeKind::kUnknown);
  };
  return is_unknown(arguments.self) || std::ranges::any_of(arguments.positional, is_unknown) ||
         std::ranges::any_of(arguments.keywords,
                             [&](const auto& keyword) { return is_unknown(keyword.second); });
}

}  // namespace

SugaredValue Emitter::call_operator(Symbol name, const CallArguments& arguments) {
  // len(x) of a script class is x.__len__().
  if (!arguments.self && !arguments.positional.empty()) {
    SsaValue* first = arguments.positional[0];
    const std::string method = "__" + std::string(name.name()) + "__";
    const ClassType* type = first->type()->as_class();
    if (type && type->find_method(method)) {
      CallArguments rest = arguments;
      rest.positional.erase(rest.positional.begin());
      return call_method(first, method, rest, builder_.span());
    }
  }
  const std::span<const Operator* const> overloads = find_operators(name);
  const std::span<Function* const> builtins = find_builtin_functions(name);
  if (overloads.empty() && builtins.empty()) {
    return unsupported_operator(name, arguments, "Torchlet does not have it");
  }
  const int version = unit_.program().operator_version;
  const bool unknown = has_unknown(arguments);
  for (const bool allow_conversions : {false, true}) {
    if (overloads.size() + builtins.size() == 1 && !allow_conversions) continue;
    const auto matched = [&](const Schema& schema) {
      return match_schema(builder_, schema, arguments, allow_conversions, nullptr);
    };
    if (unknown) {
      if (auto result = call_guessed(overloads, arguments, allow_conversions)) return *result;
      continue;
    }
    for (const Operator* op : overloads) {
      if (const Upgrader* upgrader = find_upgrader(op->schema, version)) {
        if (const auto match = matched(upgrader->old_schema())) {
          return call_matched(upgrader->function(), *match);
        }
      } else if (const auto match = matched(op->schema)) {
        return call_matched(*op, *match);
      }
    }
    for (Function* builtin : builtins) {
      if (const auto match = matched(builtin->schema())) return call_matched(builtin, *match);
    }
  }
  return unsupported_operator(name, arguments, "no overload takes " + arguments.str());
}

std::optional<SugaredValue> Emitter::call_guessed(std::span<const Operator* const> overloads,
                                                  const CallArguments& arguments,
                                                  bool allow_conversions) {
  const Operator* guess = nullptr;
  const auto takes_tensor = [](const Operator& op) {
    return !op.schema.arguments.empty() && op.schema.arguments[0].type->is(TypeKind::kTensor);
  };
  std::vector<TypePtr> results;
  bool agreed = true;
  for (const Operator* op : overloads) {
    const size_t mark = builder_.mark();
    const auto match = match_schema(builder_, op->schema, arguments, allow_conversions, nullptr);
    builder_.roll_back(mark);
    if (!match) continue;
    agreed = agreed && (!guess || std::ranges::equal(results, match->return_types,
                                                     [](const TypePtr& x, const TypePtr& y) {
                                                       return equal(x, y);
                                                     }));
    results = match->return_types;
    if (!guess || (takes_tensor(*op) && !takes_tensor(*guess))) guess = op;
  }
  if (!guess) return std::nullopt;
  auto match = match_schema(builder_, guess->schema, arguments, allow_conversions, nullptr);
  if (!agreed) std::ranges::fill(match->return_types, types::unknown());
  return call_matched(*guess, *match);
}

SugaredValue Emitter::call_matched(const Operator& matched, const Match& match) {
  std::vector<SsaValue*> inputs = match.inputs;
  const Operator* op = operator_with_number(matched, inputs);
  if (op) {
    inputs[1] = builder_.constant(Value(Builder::constant_value(inputs[1])->to_scalar()));
  } else {
    op = &matched;
  }
  Node* node = builder_.node(op->name, std::move(inputs));
  node->set_op(op);
  Several results;
  for (const TypePtr& type : match.return_types) results.values.push_back(node->add_output(type));
  if (results.values.size() == 1) return results.values[0];
  return results;
}

SsaValue* Emitter::call_matched(Function* function, const Match& match) {
  Node* node = builder_.node(prim::kCallFunction, match.inputs);
  node->set_attribute("function", function);
  return node->add_output(match.return_types.at(0));
}

SsaValue* Emitter::call_operator_value(const char* name, std::vector<SsaValue*> arguments) {
  const SugaredValue result = call_operator(Symbol(name), {nullptr, std::move(arguments), {}});
  return value_of(result, builder_.span());
}

namespace {

std::string keyword_names(const CallArguments& arguments) {
  std::string names;
  for (const auto& [keyword, value] : arguments.keywords) {
    names += (names.empty() ? "" : " ") + keyword;
  }
  return names;
}

}  // namespace

SugaredValue Emitter::unsupported_operator(Symbol name, const CallArguments& arguments,
                                           std::string reason) {
  std::vector<SsaValue*> inputs;
  if (arguments.self) inputs.push_back(arguments.self);
  inputs.insert(inputs.end(), arguments.positional.begin(), arguments.positional.end());
  for (const auto& [keyword, value] : arguments.keywords) inputs.push_back(value);
  Node* node = builder_.node(prim::kUnsupported, std::move(inputs));
  node->set_attribute("name", name.str());
  node->set_attribute("reason", std::move(reason));
  if (const std::string names = keyword_names(arguments); !names.empty()) {
    node->set_attribute("keywords", names);
  }
  return node->add_output(types::unknown());
}

// Functions and methods.

Match Emitter::match_function(const Schema& schema, const CallArguments& arguments,
                              const std::string& called, Span span) {
  std::string why_not;
  std::optional<Match> match = match_schema(builder_, schema, arguments, true, &why_not);
  if (!match) fail(span, "the arguments do not fit " + called + ": " + why_not);
  return std::move(*match);
}

SsaValue* Emitter::call_function(Function* function, const CallArguments& arguments, Span span) {
  const Match match =
      match_function(function->schema(), arguments, function->qualified_name(), span);
  return call_matched(function, match);
}

SsaValue* Emitter::call_method(SsaValue* self, const std::string& name,
                               const CallArguments& arguments, Span span) {
  const TypePtr& type = self->type();
  CallArguments with_self = arguments;
  with_self.positional.insert(with_self.positional.begin(), self);
  const auto make_call = [&](std::vector<SsaValue*> inputs, TypePtr result) {
    Node* node = builder_.node(prim::kCallMethod, std::move(inputs));
    node->set_attribute("name", name);
    node->add_output(std::move(result));
    return node;
  };

  const ClassType* class_type = type->as_class();
  if (class_type && !is_custom_class(*type)) {
    Function* method = class_type->find_method(name);
    if (!method) fail(span, "'" + type->name() + "' has no method '" + name + "'");
    const Match match = match_function(method->schema(), with_self, method->qualified_name(), span);
    Node* node = make_call(match.inputs, match.return_types.at(0));
    if (type->is(TypeKind::kClass)) node->set_attribute("function", method);
    return node->output();
  }
  if (const CustomClass* custom = class_type ? find_custom_class(type->name()) : nullptr) {
    for (const CustomMethod& method : custom->methods) {
      if (method.schema.name != name) continue;
      const Match match = match_function(method.schema, with_self, type->name() + "." + name, span);
      const std::vector<TypePtr>& results = match.return_types;
      return make_call(match.inputs, results.empty()       ? types::none()
                                     : results.size() == 1 ? results[0]
                                                           : types::tuple(results))
          ->output();
    }
  }
  std::vector<SsaValue*> inputs = with_self.positional;
  for (const auto& [keyword, value] : arguments.keywords) inputs.push_back(value);
  Node* node = make_call(std::move(inputs), types::unknown());
  if (const std::string names = keyword_names(arguments); !names.empty()) {
    node->set_attribute("keywords", names);
  }
  return node->output();
}

SsaValue* Emitter::construct(const TypePtr& type, const CallArguments& arguments, Span span) {
  if (type->is(TypeKind::kTuple)) {
    Schema schema;
    schema.name = type->name();
    for (size_t i = 0; i < type->elements().size(); ++i) {
      Argument& field = schema.arguments.emplace_back();
      field.name = type->field_names()[i];
      field.type = type->element(i);
    }
    const Match match = match_function(schema, arguments, type->name(), span);
    return builder_.value(prim::kTupleConstruct, match.inputs, type);
  }
  if (!type->is(TypeKind::kClass)) fail(span, "'" + type->name() + "' cannot be constructed");
  SsaValue* object = builder_.value(prim::kCreateObject, {}, type);
  call_method(object, "__init__", arguments, span);
  return object;
}

// Special forms.

void Emitter::expect_arguments(const Expr& call, size_t least, size_t most) const {
  const size_t given = call.children.size() - 1;
  if (given < least || given > most || !call.keywords.empty()) {
    fail(call, "the wrong number of arguments");
  }
}

const std::string& Emitter::string_literal(const Expr& e) const {
  if (e.kind != ExprKind::kString) fail(e, "a string constant is needed here");
  return e.text;
}

SugaredValue Emitter::emit_special(SpecialForm form, const Expr& call) {
  switch (form) {
    case SpecialForm::kAnnotate:
      return emit_annotate(call);
    case SpecialForm::kUncheckedCast:
      return emit_unchecked_cast(call);
    case SpecialForm::kUncheckedUnwrapOptional: {
      expect_arguments(call, 1, 1);
      SsaValue* value = emit_value(*call.children[1]);
      if (!value->type()->is(TypeKind::kOptional)) return value;
      return builder_.value(prim::kUncheckedCast, {value}, value->type()->element(0));
    }
    case SpecialForm::kUninitialized:
      expect_arguments(call, 1, 1);
      return builder_.value(prim::kUninitialized, {}, type_of(*call.children[1]));
    case SpecialForm::kIsInstance:
      return emit_is_instance(call).value;
    case SpecialForm::kHasAttr:
      expect_arguments(call, 2, 2);
      return builder_.boolean(
          has_attribute(emit_value(*call.children[1]), string_literal(*call.children[2])));
    case SpecialForm::kGetAttr:
      expect_arguments(call, 2, 2);
      return attribute(emit(*call.children[1]), string_literal(*call.children[2]), call.span);
    case SpecialForm::kFork:
      return emit_fork(call);
    case SpecialForm::kPrint: {
      const CallArguments arguments = emit_arguments(call);
      builder_.node(prim::kPrint, arguments.positional);
      return Several{};
    }
    case SpecialForm::kRaiseException: {
      expect_arguments(call, 1, 2);
      SsaValue* message = emit_value(*call.children[1]);
      if (!message->type()->is(TypeKind::kString)) {
        message = call_operator_value("aten::str", {message});
      }
      SsaValue* exception =
          call.children.size() > 2 ? emit_value(*call.children[2]) : builder_.none();
      builder_.set_span(call.span);
      builder_.node(prim::kRaiseException, {message, exception});
      return Several{};
    }
    case SpecialForm::kTuple: {
      expect_arguments(call, 1, 1);
      Several items;
      const SugaredValue inner = emit(*call.children[1]);
      for (const SugaredValue& item : items_of(inner, std::nullopt, call.span)) {
        items.values.push_back(value_of(item, call.span));
      }
      if (!items.values.empty()) return value_of(items, call.span);
      return builder_.value(prim::kTupleConstruct, {}, types::tuple({}));
    }
    case SpecialForm::kRange:
    case SpecialForm::kZip:
    case SpecialForm::kEnumerate:
      return emit_iterable(form, call);
    case SpecialForm::kFloat:
      return emit_cast(call, "aten::Float", types::floating());
    case SpecialForm::kInt:
      return emit_cast(call, "aten::Int", types::integer());
    case SpecialForm::kBool:
      return emit_cast(call, "aten::Bool", types::boolean());
    case SpecialForm::kStr:
      return emit_cast(call, "aten::str", types::string());
  }
  fail(call, "this cannot be called");
}

SsaValue* Emitter::emit_annotate(const Expr& call) {
  expect_arguments(call, 2, 2);
  const TypePtr type = type_of(*call.children[1]);
  SsaValue* value = emit_value(*call.children[2], type);
  builder_.set_span(call.span);
  value = convert(builder_, value, type, true);
  if (!is_subtype(value->type(), type)) {
    fail(call, "a " + value->type()->str() + " is annotated as " + type->str());
  }
  // None is to keep the type that it is annotated with.
  if (value->type()->is(TypeKind::kNone)) return builder_.constant(Value(), type);
  return value;
}

SsaValue* Emitter::emit_unchecked_cast(const Expr& call) {
  expect_arguments(call, 2, 2);
  const TypePtr type = type_of(*call.children[1]);
  SsaValue* value = emit_value(*call.children[2]);
  builder_.set_span(call.span);
  if (equal(value->type(), type)) return value;
  return builder_.value(prim::kUncheckedCast, {value}, type);
}

SsaValue* Emitter::emit_fork(const Expr& call) {
  if (call.children.size() < 2) fail(call, "fork() needs a function");
  const SugaredValue callee = emit(*call.children[1]);
  CallArguments arguments = emit_arguments(call, 2);
  builder_.set_span(call.span);
  Node* node = builder_.node(prim::kFork);
  Block* block = node->add_block();
  {
    const Builder::InBlock in_block(builder_, block);
    env_.push();
    SsaValue* result = value_of(this->call(callee, std::move(arguments), call.span), call.span);
    env_.pop();
    block->add_output(result);
  }
  return node->add_output(types::future(block->outputs()[0]->type()));
}

SsaValue* Emitter::emit_cast(const Expr& call, const char* operator_name, const TypePtr& type) {
  const CallArguments arguments = emit_arguments(call);
  builder_.set_span(call.span);
  if (arguments.positional.size() == 1 && arguments.keywords.empty()) {
    SsaValue* value = arguments.positional[0];
    if (equal(value->type(), type)) return value;
    const ClassType* class_type = value->type()->as_class();
    const std::string method = "__" + type->str() + "__";
    if (class_type && class_type->find_method(method)) {
      return call_method(value, method, {}, call.span);
    }
  }
  return value_of(call_operator(Symbol(operator_name), arguments), call.span);
}

SugaredValue Emitter::emit_iterable(SpecialForm form, const Expr& call) {
  auto made = std::make_shared<Iterable>();
  if (form == SpecialForm::kRange) {
    expect_arguments(call, 1, 3);
    *made = iterate_range(emit_arguments(call).positional, call.span);
    return made;
  }
  expect_arguments(call, 1, form == SpecialForm::kEnumerate ? 2 : 1000);
  std::vector<Iterable> parts;
  if (form == SpecialForm::kEnumerate) {
    SsaValue* start = call.children.size() > 2 ? emit_value(*call.children[2]) : nullptr;
    Iterable counter;
    counter.item = [this, start](SsaValue* i) -> SugaredValue {
      return start ? call_operator_value("aten::add", {i, start}) : i;
    };
    counter.static_item = [this, counter](size_t i) {
      return counter.item(builder_.integer(static_cast<int64_t>(i)));
    };
    parts.push_back(counter);
    parts.push_back(iterate(emit(*call.children[1]), call.span));
  } else {
    for (size_t i = 1; i < call.children.size(); ++i) {
      parts.push_back(iterate(emit(*call.children[i]), call.span));
    }
  }
  std::vector<Iterable> limited;  // the counter of enumerate() runs on for ever
  for (const Iterable& part : parts) {
    if (part.length || part.static_length) limited.push_back(part);
    if (!part.static_length) continue;
    made->static_length =
        std::min(made->static_length.value_or(*part.static_length), *part.static_length);
  }
  const bool all_static = std::ranges::all_of(
      limited, [](const Iterable& part) { return part.static_length.has_value(); });
  if (made->static_length && !all_static) {
    fail(call, "a tuple cannot be iterated over together with something of unknown length");
  }
  const auto zipped = [this, parts, span = call.span](auto&& item_of) -> SugaredValue {
    Several items;
    for (const Iterable& part : parts) items.values.push_back(value_of(item_of(part), span));
    return items;
  };
  made->static_item = [zipped](size_t i) {
    return zipped([i](const Iterable& part) { return part.static_item(i); });
  };
  made->item = [zipped](SsaValue* i) {
    return zipped([i](const Iterable& part) { return part.item(i); });
  };
  if (!made->static_length) {
    made->length = [this, limited] {
      if (limited.size() == 1) return limited[0].length();
      std::vector<SsaValue*> lengths;
      for (const Iterable& part : limited) lengths.push_back(part.length());
      return call_operator_value("prim::min",
                                 {builder_.value(prim::kListConstruct, std::move(lengths),
                                                 types::list(types::integer()))});
    };
  }
  return made;
}

}  // namespace torchlet::script
