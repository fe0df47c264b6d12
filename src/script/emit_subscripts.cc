// x[...] of lists, dicts, strings, tuples, modules and tensors.
#include <algorithm>

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "script/emitter.h"

namespace torchlet::script {

SugaredValue Emitter::emit_subscript(const Expr& e, const TypePtr& hint) {
  SsaValue* container = emit_value(*e.children[0]);
  builder_.set_span(e.span);
  if (container->type()->is(TypeKind::kTensor)) {
    const auto [view, indices] = index_tensor(container, e);
    if (indices.empty()) return view;
    return call_operator_value("aten::index", {view, list_of_indices(indices)});
  }
  if (e.children.size() != 2) {
    fail(e, "a " + container->type()->str() + " takes a single index");
  }
  const Expr& key = *e.children[1];
  if (key.kind != ExprKind::kSlice) return item(container, emit_value(key), hint, e.span);
  if (container->type()->is(TypeKind::kTuple)) return tuple_slice(container, key);
  return slice(container, key, std::nullopt);
}

SsaValue* Emitter::item(SsaValue* container, SsaValue* index, const TypePtr& hint, Span span) {
  const TypePtr& type = container->type();
  if (type->is(TypeKind::kTuple)) return tuple_item(container, index, span);
  if (const ClassType* class_type = type->as_class()) {
    if (class_type->is_module() && hint) {
      return builder_.value(prim::kModuleContainerIndex, {container, index}, hint);
    }
    return call_method(container, "__getitem__", {nullptr, {index}, {}}, span);
  }
  if (!type->is(TypeKind::kList) && !type->is(TypeKind::kDict) && !type->is(TypeKind::kString) &&
      !type->is(TypeKind::kUnknown)) {
    fail(span, "a " + type->str() + " has no items");
  }
  return call_operator_value("aten::__getitem__", {container, index});
}

SsaValue* Emitter::tuple_item(SsaValue* tuple, SsaValue* index, Span span) {
  const std::vector<TypePtr>& elements = tuple->type()->elements();
  const Value* constant = Builder::constant_value(index);
  if (!constant) {
    TypePtr common = elements.empty() ? nullptr : elements[0];
    for (const TypePtr& element : elements) common = common ? unify(common, element) : nullptr;
    if (!common) fail(span, "a tuple of several types needs a constant index");
    return builder_.value(prim::kTupleIndex, {tuple, index}, common);
  }
  if (!constant->is_int()) fail(span, "the index of a tuple is not an int");
  const auto length = static_cast<int64_t>(elements.size());
  int64_t i = constant->to_int();
  if (i < -length || i >= length) {
    fail(span, "the index " + std::to_string(i) + " is out of the range of a tuple of " +
                   std::to_string(length));
  }
  if (i < 0) i += length;
  const auto position = static_cast<size_t>(i);
  if (tuple->node()->kind() == prim::kTupleConstruct) return tuple->node()->input(position);
  return builder_.value(prim::kTupleIndex, {tuple, builder_.integer(i)}, elements[position]);
}

SsaValue* Emitter::slice(SsaValue* container, const Expr& slice, std::optional<int64_t> dim) {
  const auto part = [&](size_t i, SsaValue* absent) {
    return slice.children[i] ? emit_value(*slice.children[i]) : absent;
  };
  std::vector<SsaValue*> arguments = {container};
  if (dim) arguments.push_back(builder_.integer(*dim));
  arguments.push_back(part(0, builder_.none()));
  arguments.push_back(part(1, builder_.none()));
  arguments.push_back(part(2, builder_.integer(1)));
  return call_operator_value("aten::slice", std::move(arguments));
}

SsaValue* Emitter::tuple_slice(SsaValue* tuple, const Expr& slice) {
  const auto length = static_cast<int64_t>(tuple->type()->elements().size());
  const auto part = [&](size_t i, int64_t absent) {
    if (!slice.children[i]) return absent;
    const Value* constant = Builder::constant_value(emit_value(*slice.children[i]));
    if (!constant || !constant->is_int()) {
      fail(slice, "the bounds of a slice of a tuple must be constant ints");
    }
    return constant->to_int();
  };
  // A step beyond the length is as good as any other.
  const int64_t step = std::clamp(part(2, 1), -length - 1, length + 1);
  if (step == 0) fail(slice, "the step of a slice is zero");
  const auto clamp = [&](int64_t i) {
    if (i < 0) i += length;
    return step > 0 ? std::clamp<int64_t>(i, 0, length) : std::clamp<int64_t>(i, -1, length - 1);
  };
  const int64_t start = slice.children[0] ? clamp(part(0, 0)) : step > 0 ? 0 : length - 1;
  const int64_t stop = slice.children[1] ? clamp(part(1, 0)) : step > 0 ? length : -1;
  const std::vector<SugaredValue> items = items_of(tuple, std::nullopt, slice.span);
  std::vector<SsaValue*> chosen;
  std::vector<TypePtr> chosen_types;
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
    chosen.push_back(value_of(items[static_cast<size_t>(i)], slice.span));
    chosen_types.push_back(chosen.back()->type());
  }
  return builder_.value(prim::kTupleConstruct, std::move(chosen),
                        types::tuple(std::move(chosen_types)));
}

std::pair<SsaValue*, std::vector<SsaValue*>> Emitter::index_tensor(SsaValue* tensor,
                                                                   const Expr& subscript) {
  const std::vector<ExprPtr>& parts = subscript.children;
  // Dims behind an ellipsis are counted from the end.
  int64_t dims_behind = 0;
  bool ellipsis = false;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i]->kind == ExprKind::kEllipsis) {
      if (ellipsis) fail(*parts[i], "an index has more than one ellipsis");
      ellipsis = true;
    } else if (ellipsis && parts[i]->kind != ExprKind::kNone) {
      ++dims_behind;
    }
  }
  ellipsis = false;
  int64_t dim = 0;
  std::vector<SsaValue*> indices;
  for (size_t i = 1; i < parts.size(); ++i) {
    const Expr& part = *parts[i];
    if (part.kind == ExprKind::kEllipsis) {
      ellipsis = true;
      dim = -dims_behind;
      continue;
    }
    if (part.kind == ExprKind::kSlice) {
      tensor = slice(tensor, part, dim++);
      continue;
    }
    SsaValue* index = emit_value(part);
    if (index->type()->is(TypeKind::kList)) {
      constexpr auto kLong = static_cast<int64_t>(DType::kInt64);
      const SugaredValue as_tensor = call_operator(
          Symbol("aten::tensor"), {nullptr, {index}, {{"dtype", builder_.integer(kLong)}}});
      index = value_of(as_tensor, part.span);
    }
    switch (index->type()->kind()) {
      case TypeKind::kNone:
        // From the end, the new dim goes in front of the dims that are still to come.
        tensor = call_operator_value("aten::unsqueeze",
                                     {tensor, builder_.integer(ellipsis ? dim - 1 : dim)});
        if (!ellipsis) ++dim;
        break;
      case TypeKind::kInt:
        tensor = call_operator_value("aten::select", {tensor, builder_.integer(dim), index});
        if (ellipsis) ++dim;
        break;
      case TypeKind::kTensor:
      case TypeKind::kOptional:
        if (ellipsis) fail(part, "a tensor cannot index behind an ellipsis");
        indices.resize(static_cast<size_t>(dim) + 1);
        indices[static_cast<size_t>(dim++)] = index;
        break;
      default:
        fail(part, "a tensor cannot be indexed by a " + index->type()->str());
    }
  }
  return {tensor, indices};
}

SsaValue* Emitter::list_of_indices(const std::vector<SsaValue*>& indices) {
  std::vector<SsaValue*> items;
  for (SsaValue* index : indices) items.push_back(index ? index : builder_.none());
  return builder_.value(prim::kListConstruct, std::move(items),
                        types::list(types::optional(types::tensor())));
}

void Emitter::set_item(const Expr& target, SsaValue* value) {
  SsaValue* container = emit_value(*target.children[0]);
  builder_.set_span(target.span);
  if (!container->type()->is(TypeKind::kTensor)) {
    if (target.children.size() != 2 || target.children[1]->kind == ExprKind::kSlice) {
      fail(target, "only single items of a " + container->type()->str() + " can be assigned");
    }
    SsaValue* key = emit_value(*target.children[1]);
    if (container->type()->as_class()) {
      call_method(container, "__setitem__", {nullptr, {key, value}, {}}, target.span);
    } else {
      call_operator(Symbol("aten::_set_item"), {nullptr, {container, key, value}, {}});
    }
    return;
  }
  const auto [view, indices] = index_tensor(container, target);
  if (!value->type()->is(TypeKind::kTensor) && !value->type()->is(TypeKind::kUnknown)) {
    const SugaredValue tensor = call_operator(
        Symbol("aten::tensor"), {nullptr,
                                 {value},
                                 {{"dtype", call_operator_value("prim::dtype", {view})},
                                  {"device", call_operator_value("prim::device", {view})}}});
    value = value_of(tensor, target.span);
  }
  if (indices.empty()) {
    call_operator_value("aten::copy_", {view, value});
  } else {
    call_operator_value("aten::index_put_", {view, list_of_indices(indices), value});
  }
}

}  // namespace torchlet::script
