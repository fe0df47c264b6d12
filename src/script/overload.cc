#include "script/overload.h"

#include <algorithm>
#include <map>

#include "graph/operator.h"
#include "graph/prim_kinds.h"
#include "tensor/containers.h"

namespace torchlet::script {
namespace {

using Bindings = std::map<std::string, TypePtr>;  // type variable -> type

const TypePtr& without_optional(const TypePtr& type) {
  return type->is(TypeKind::kOptional) ? type->element(0) : type;
}

// Learns the type variables of `formal` from `actual`. False if they contradict each other; whether
// the types fit otherwise is checked later.
bool bind_variables(const TypePtr& formal, const TypePtr& actual, Bindings& bindings) {
  if (!has_free_variables(*formal)) return true;
  if (formal->is(TypeKind::kVar)) {
    TypePtr& bound = bindings[formal->name()];
    bound = bound ? unify(bound, actual) : actual;
    return bound != nullptr;
  }
  if (actual->is(TypeKind::kUnknown)) {
    for (const TypePtr& element : formal->elements()) {
      if (!bind_variables(element, actual, bindings)) return false;
    }
    return true;
  }
  if (formal->is(TypeKind::kOptional)) {
    if (actual->is(TypeKind::kNone)) return true;
    return bind_variables(formal->element(0), without_optional(actual), bindings);
  }
  if (formal->is(TypeKind::kList) && actual->is(TypeKind::kTuple)) {
    TypePtr common;
    for (const TypePtr& element : actual->elements()) {
      common = common ? unify(common, element) : element;
      if (!common) return false;
    }
    return common && bind_variables(formal->element(0), common, bindings);
  }
  if (formal->kind() != actual->kind() || formal->elements().size() != actual->elements().size()) {
    return false;
  }
  for (size_t i = 0; i < formal->elements().size(); ++i) {
    if (!bind_variables(formal->element(i), actual->element(i), bindings)) return false;
  }
  return true;
}

// `type` with its variables replaced; null if one is not known.
TypePtr substitute(const TypePtr& type, const Bindings& bindings) {
  if (!has_free_variables(*type)) return type;
  if (type->is(TypeKind::kVar)) {
    const auto found = bindings.find(type->name());
    return found == bindings.end() ? nullptr : found->second;
  }
  std::vector<TypePtr> elements;
  for (const TypePtr& element : type->elements()) {
    elements.push_back(substitute(element, bindings));
    if (!elements.back()) return nullptr;
  }
  switch (type->kind()) {
    case TypeKind::kOptional:
      return types::optional(elements[0]);
    case TypeKind::kUnion:
      return types::union_of(std::move(elements));
    default:
      return std::make_shared<Type>(type->kind(), std::move(elements), type->name(),
                                    type->field_names());
  }
}

std::vector<TypePtr> substituted(const std::vector<Argument>& returns, const Bindings& bindings) {
  std::vector<TypePtr> types;
  for (const Argument& result : returns) {
    const TypePtr type = substitute(result.type, bindings);
    types.push_back(type ? type : types::unknown());
  }
  return types;
}

bool is_tuple_for_list(const Type& type, const Type& list) {
  return type.is(TypeKind::kTuple) && list.is(TypeKind::kList) &&
         std::ranges::all_of(type.elements(), [&](const TypePtr& element) {
           return is_subtype(*element, *list.element(0));
         });
}

std::vector<SsaValue*> unpack(Builder& builder, SsaValue* tuple) {
  Node* node = builder.node(prim::kTupleUnpack, {tuple});
  for (const TypePtr& element : tuple->type()->elements()) node->add_output(element);
  return node->outputs();
}

SsaValue* call_operator(Builder& builder, const char* name, const char* overload, SsaValue* input,
                        TypePtr type) {
  const Operator* op = find_operator(name, overload);
  Node* node = builder.node(op ? op->name : prim::kUnsupported, {input});
  node->set_op(op);
  if (!op) {
    node->set_attribute("name", std::string(name));
    node->set_attribute("reason", std::string("Torchlet does not have it"));
  }
  return node->add_output(std::move(type));
}

SsaValue* implicit_conversion(Builder& builder, SsaValue* value, const TypePtr& type) {
  const TypeKind to = type->kind();
  if (value->type()->is(TypeKind::kTensor)) {
    switch (to) {
      case TypeKind::kFloat:
        return call_operator(builder, "aten::FloatImplicit", "", value, type);
      case TypeKind::kInt:
        return call_operator(builder, "aten::IntImplicit", "", value, type);
      case TypeKind::kComplex:
        return call_operator(builder, "aten::ComplexImplicit", "", value, type);
      case TypeKind::kNumber:
        return call_operator(builder, "aten::ScalarImplicit", "", value, type);
      default:
        return value;
    }
  }
  if (value->type()->is(TypeKind::kNumber)) {
    switch (to) {
      case TypeKind::kFloat:
        return call_operator(builder, "aten::Float", "Scalar", value, type);
      case TypeKind::kInt:
        return call_operator(builder, "aten::Int", "Scalar", value, type);
      case TypeKind::kComplex:
        return call_operator(builder, "aten::Complex", "Scalar", value, type);
      default:
        return value;
    }
  }
  if (value->type()->is(TypeKind::kString) && to == TypeKind::kDevice) {
    return call_operator(builder, "aten::device", "", value, type);
  }
  return value;
}

// Matches one call against one schema.
class Matcher {
 public:
  Matcher(Builder& builder, const Schema& schema, const CallArguments& call, bool allow_conversions,
          std::string* why_not)
      : builder_(builder),
        schema_(schema),
        call_(call),
        allow_conversions_(allow_conversions),
        why_not_(why_not) {}

  std::optional<Match> run() {
    // torch.Tensor.view(dtype): dtypes are ints here, so it would catch view(1).
    if (schema_.name == "aten::view" && schema_.overload == "dtype")
      return reject("it is no match");
    Match match;
    std::vector<bool> keyword_used(call_.keywords.size(), false);
    bool self_used = call_.self == nullptr;
    for (size_t i = 0; i < schema_.arguments.size(); ++i) {
      const Argument& formal = schema_.arguments[i];
      SsaValue* actual = nullptr;
      if (!self_used && formal.name == "self") {
        self_used = true;
        actual = call_.self;
      } else if (!formal.keyword_only && next_ < call_.positional.size()) {
        if (takes_all_the_rest(i)) {
          actual = list_of_the_rest(formal);
          if (!actual) return std::nullopt;
          match.inputs.push_back(actual);
          continue;
        }
        actual = call_.positional[next_++];
      } else if (const auto keyword = find_keyword(formal.name)) {
        keyword_used[*keyword] = true;
        actual = call_.keywords[*keyword].second;
      } else if (formal.default_value) {
        match.inputs.push_back(default_of(formal));
        continue;
      } else {
        return reject("argument '" + formal.name + "' is missing");
      }
      actual = fit(formal, formal.list_size, actual);
      if (!actual) return std::nullopt;
      match.inputs.push_back(actual);
    }
    if (schema_.is_vararg) {
      while (next_ < call_.positional.size()) match.inputs.push_back(call_.positional[next_++]);
    }
    if (next_ < call_.positional.size()) {
      return reject("it takes " + std::to_string(next_) + " positional arguments");
    }
    if (!self_used) return reject("it is no method");
    for (size_t i = 0; i < keyword_used.size(); ++i) {
      if (!keyword_used[i]) {
        return reject("there is no argument '" + call_.keywords[i].first + "'");
      }
    }
    match.return_types = substituted(schema_.returns, bindings_);
    return match;
  }

 private:
  std::nullopt_t reject(const std::string& reason) {
    if (why_not_) *why_not_ = reason;
    return std::nullopt;
  }

  SsaValue* default_of(const Argument& formal) {
    const Value& value = *formal.default_value;
    return value.is_none() ? builder_.constant(value, formal.type) : builder_.constant(value);
  }

  std::optional<size_t> find_keyword(const std::string& name) const {
    const bool is_aten = schema_.name.starts_with("aten::");
    for (size_t i = 0; i < call_.keywords.size(); ++i) {
      const std::string& given = call_.keywords[i].first;
      if (given == name || (is_aten && name == "self" && given == "input")) return i;
    }
    return std::nullopt;
  }

  // torch.zeros(2, 3): argument `i` may take all the positional arguments that are left.
  bool takes_all_the_rest(size_t i) const {
    const Argument& formal = schema_.arguments[i];
    if (!allow_conversions_ || !formal.type->is(TypeKind::kList) || formal.list_size) return false;
    if (formal.type->element(0)->is(TypeKind::kVar)) return false;
    const bool is_last = i + 1 == schema_.arguments.size() || schema_.arguments[i + 1].keyword_only;
    const Type& first = *call_.positional[next_]->type();
    return is_last && !first.is(TypeKind::kList) && !first.is(TypeKind::kUnknown) &&
           !is_tuple_for_list(first, *formal.type);
  }

  SsaValue* list_of_the_rest(const Argument& formal) {
    Argument element = formal;
    element.type = formal.type->element(0);
    std::vector<SsaValue*> items;
    while (next_ < call_.positional.size()) {
      items.push_back(fit(element, std::nullopt, call_.positional[next_++]));
      if (!items.back()) return nullptr;
    }
    return builder_.value(prim::kListConstruct, std::move(items), formal.type);
  }

  SsaValue* fit(const Argument& formal, std::optional<int64_t> list_size, SsaValue* actual) {
    if (list_size) actual = repeated(formal, *list_size, actual);
    if (!bind_variables(formal.type, actual->type(), bindings_)) return mismatch(formal, actual);
    const TypePtr type = substitute(formal.type, bindings_);
    if (!type) return mismatch(formal, actual);
    actual = convert(builder_, actual, type, allow_conversions_);
    return is_subtype(actual->type(), type) ? actual : mismatch(formal, actual);
  }

  SsaValue* mismatch(const Argument& formal, const SsaValue* actual) {
    reject("argument '" + formal.name + "' is a " + formal.type->str() + ", not a " +
           actual->type()->str());
    return nullptr;
  }

  // A lone int for an int[2].
  SsaValue* repeated(const Argument& formal, int64_t size, SsaValue* actual) {
    const TypePtr& list = without_optional(formal.type);
    const bool number = actual->type()->is(TypeKind::kInt) || actual->type()->is(TypeKind::kFloat);
    if (!number || !list->is(TypeKind::kList) || !equal(list->element(0), actual->type())) {
      return actual;
    }
    return builder_.value(prim::kListConstruct,
                          std::vector<SsaValue*>(static_cast<size_t>(size), actual), list);
  }

  Builder& builder_;
  const Schema& schema_;
  const CallArguments& call_;
  const bool allow_conversions_;
  std::string* const why_not_;
  size_t next_ = 0;  // positional argument
  Bindings bindings_;
};

}  // namespace

std::string CallArguments::str() const {
  std::string text = "(";
  const auto add = [&](const std::string& item) { text += (text.size() > 1 ? ", " : "") + item; };
  if (self) add(self->type()->str());
  for (const SsaValue* value : positional) add(value->type()->str());
  for (const auto& [name, value] : keywords) add(name + "=" + value->type()->str());
  return text + ")";
}

std::optional<Match> match_schema(Builder& builder, const Schema& schema, const CallArguments& call,
                                  bool allow_conversions, std::string* why_not) {
  const size_t mark = builder.mark();
  std::optional<Match> match = Matcher(builder, schema, call, allow_conversions, why_not).run();
  if (!match) builder.roll_back(mark);
  return match;
}

std::vector<TypePtr> return_types(const Schema& schema, const std::vector<TypePtr>& arguments) {
  Bindings bindings;
  const size_t count = std::min(arguments.size(), schema.arguments.size());
  for (size_t i = 0; i < count; ++i) {
    if (!bind_variables(schema.arguments[i].type, arguments[i], bindings)) bindings.clear();
  }
  return substituted(schema.returns, bindings);
}

const Operator* operator_with_number(const Operator& op, const std::vector<SsaValue*>& inputs) {
  constexpr std::string_view kNames[] = {"aten::add", "aten::sub", "aten::mul", "aten::div"};
  if (op.schema.overload != "Tensor" || !std::ranges::count(kNames, op.schema.name)) return nullptr;
  const Value* other = Builder::constant_value(inputs.at(1));
  if (!other || !other->is_tensor() || other->to_tensor().dim() != 0) return nullptr;
  return find_operator(op.schema.name, "Scalar");
}

SsaValue* convert(Builder& builder, SsaValue* value, const TypePtr& type, bool allow_conversions) {
  if (type->is(TypeKind::kOptional) && !value->type()->is(TypeKind::kOptional) &&
      !value->type()->is(TypeKind::kNone)) {
    return convert(builder, value, type->element(0), allow_conversions);
  }
  // A bare `[]` was taken for a List[Tensor].
  if (type->is(TypeKind::kList) && value->node()->kind() == prim::kListConstruct &&
      value->node()->inputs().empty() && value->users().empty() && !equal(value->type(), type)) {
    return builder.value(prim::kListConstruct, {}, type);
  }
  if (value->type()->is(TypeKind::kTuple)) {
    if (is_tuple_for_list(*value->type(), *without_optional(type))) {
      return builder.value(prim::kListConstruct, unpack(builder, value), without_optional(type));
    }
    if (type->is(TypeKind::kTuple) && !is_subtype(value->type(), type) &&
        type->elements().size() == value->type()->elements().size()) {
      std::vector<SsaValue*> items = unpack(builder, value);
      std::vector<TypePtr> item_types;
      for (size_t i = 0; i < items.size(); ++i) {
        items[i] = convert(builder, items[i], type->element(i), allow_conversions);
        item_types.push_back(items[i]->type());
      }
      return builder.value(prim::kTupleConstruct, std::move(items),
                           types::tuple(std::move(item_types)));
    }
  }
  return allow_conversions ? implicit_conversion(builder, value, type) : value;
}

}  // namespace torchlet::script
