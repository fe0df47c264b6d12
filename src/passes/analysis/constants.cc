#include "passes/analysis/constants.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "graph/prim_kinds.h"
#include "tensor/containers.h"

namespace torchlet::passes {

const Value* constant_of(const SsaValue* value) {
  const Node& node = *value->node();
  if (node.kind() != prim::kConstant || node.has_attribute("written")) return nullptr;
  return &node.value_attribute("value");
}

const Value* constant_argument(const Node& node, std::string_view name) {
  const auto at = node.op() ? node.op()->schema.find_argument(name) : std::nullopt;
  if (!at) return nullptr;
  if (*at < node.inputs().size()) return constant_of(node.input(*at));
  const auto& value = node.op()->schema.arguments[*at].default_value;
  return value ? &*value : nullptr;
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

void for_each_part(const Value& value, FunctionRef<bool(const Value& part)> visit) {
  const auto is_container = [](const Value& part) {
    return part.is_list() || part.is_tuple() || part.is_dict();
  };
  if (!visit(value) || !is_container(value)) return;
  std::unordered_set<int64_t> seen = {value.raw_int()};
  std::vector<Value> open = {value};
  const auto look_at = [&](const Value& part) {
    const bool again = is_container(part) && !seen.insert(part.raw_int()).second;
    if (!again && visit(part) && is_container(part)) open.push_back(part);
  };
  while (!open.empty()) {
    const Value container = std::move(open.back());
    open.pop_back();
    if (container.is_dict()) {
      for (const auto& [key, item] : container.dict_ref().items()) {
        look_at(key);
        look_at(item);
      }
    } else {
      const auto& items =
          container.is_list() ? container.list_ref().items : container.tuple_ref().items;
      for (const Value& item : items) look_at(item);
    }
  }
}

namespace {

bool is_plain(const Value& value) {
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
    default:
      return false;
  }
}

}  // namespace

bool is_immutable(const Value& value) {
  bool immutable = true;
  for_each_part(value, [&](const Value& part) {
    immutable = immutable && (is_plain(part) || part.is_tuple());
    return immutable;
  });
  return immutable;
}

size_t count_nodes(const Block& block) {
  size_t count = 0;
  for (const Node* node : block) {
    ++count;
    for (const Block* inner : node->blocks()) count += count_nodes(*inner);
  }
  return count;
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
