#include "passes/constants.h"

#include <algorithm>

#include "graph/prim_kinds.h"
#include "tensor/containers.h"

namespace torchlet::passes {

const Value* constant_of(const SsaValue* value) {
  const Node& node = *value->node();
  if (node.kind() != prim::kConstant || node.has_attribute("written")) return nullptr;
  return &node.value_attribute("value");
}

void mark_written(Node& constant) { constant.set_attribute("written", Value(true)); }

SsaValue* insert_constant(Node* before, Value value, TypePtr type) {
  Node* node = before->graph()->create(prim::kConstant);
  node->set_attribute("value", std::move(value));
  node->set_range(before->range());
  node->set_inlined_call(before->inlined_call());
  node->insert_before(before);
  return node->add_output(std::move(type));
}

bool is_immutable(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNone:
    case ValueKind::kInt:
    case ValueKind::kFloat:
    case ValueKind::kComplex:
    case ValueKind::kBool:
    case ValueKind::kString:
    case ValueKind::kDevice:
    case ValueKind::kCustom:
    case ValueKind::kEnum:
      return true;
    case ValueKind::kTuple:
      return std::ranges::all_of(value.tuple_ref().items, is_immutable);
    default:
      return false;
  }
}

bool is_mutable(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kNone:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kComplex:
    case TypeKind::kBool:
    case TypeKind::kNumber:
    case TypeKind::kString:
    case TypeKind::kDevice:
    case TypeKind::kEnum:
    case TypeKind::kAnyEnum:
    case TypeKind::kFunction:
      return false;
    case TypeKind::kTuple:
    case TypeKind::kOptional:
    case TypeKind::kUnion:
      return std::ranges::any_of(type.elements(), [](const TypePtr& t) { return is_mutable(*t); });
    default:
      return true;
  }
}

}  // namespace torchlet::passes
