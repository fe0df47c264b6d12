#include "passes/freeze.h"

#include <algorithm>

#include "base/selection.h"
#include "graph/function.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

// The type of an attribute that holds this value: its declared type, less what it cannot be.
TypePtr narrowed(const TypePtr& declared, const Value& value) {
  if (value.is_none()) return types::none();
  if (declared->is(TypeKind::kOptional)) return declared->element(0);
  return declared;
}

void replace(Node& node, const Value& value) {
  SsaValue* constant = insert_constant(&node, value, narrowed(node.output()->type(), value));
  constant->set_name(node.output()->name());
  node.output()->replace_all_uses_with(constant);
  node.destroy();
}

// Of what may be missing, which is an error of the run.
bool is_lookup(const Node& node) {
  static const Symbol kGetItem("aten::__getitem__");
  return node.kind() == prim::kModuleContainerIndex ||
         (selection::has_operator("aten::__getitem__") && node.kind() == kGetItem);
}

// Tensors with memory of their own, lists, tuples and dicts of such and of plain values.
bool is_freezable(const Value& value) {
  bool freezable = true;
  for_each_part(value, [&](const Value& part) {
    if (part.is_tensor()) {
      freezable = freezable && part.tensor_impl()->storage.get() != nullptr;
    } else if (!part.is_list() && !part.is_tuple() && !part.is_dict()) {
      freezable = freezable && is_immutable(part);
    }
    return freezable;
  });
  return freezable;
}

}  // namespace

bool freeze_plain(Graph& graph, KnownObjects& objects) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() == prim::kGetAttr) {
      const auto known = objects.known(node.output());
      if (!known) return;
      if (is_immutable(*known)) {
        replace(node, *known);
        changed = true;
      } else {
        node.output()->set_type(narrowed(node.output()->type(), *known));
      }
    } else if (node.kind() == prim::kCallMethod && !node.has_attribute("function")) {
      const auto known = objects.known(node.input(0));
      if (!known || !known->is_object()) return;
      Function* method = known->object_ref().type->find_method(node.string_attribute("name"));
      if (!method || method->schema().arguments.size() != node.inputs().size()) return;
      node.set_attribute("function", method);
      changed = true;
    } else if (node.kind() == prim::kSetAttr) {
      const Value* value = constant_of(node.input(1));
      const auto slot = value && is_immutable(*value) ? objects.slot(node) : std::nullopt;
      const auto held = slot ? objects.held(*slot) : std::nullopt;
      if (!held || !held->is_same(*value)) return;
      node.destroy();  // it stores what is there
      changed = true;
    } else if (is_lookup(node) && node.output()->users().empty() && objects.known(node.output())) {
      node.destroy();
      changed = true;
    }
  });
  return changed;
}

bool freeze_tensors(Graph& graph, KnownObjects& objects, const AliasAnalysis& aliases) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    const bool is_constant = node.kind() == prim::kConstant;
    if (!is_constant && node.kind() != prim::kGetAttr) return;
    const auto known = objects.known(node.output());
    if (!known || is_immutable(*known) || !is_freezable(*known)) return;
    const std::vector<const void*> memory = memory_of(*known);
    const bool written = std::ranges::any_of(memory, [&](const void* address) {
      return objects.writes().writes(address) || aliases.writes().writes(address);
    });
    if (written) {
      if (is_constant) mark_written(node);
      return;
    }
    objects.reads().memory.insert(memory.begin(), memory.end());
    if (is_constant) return;
    replace(node, *known);
    changed = true;
  });
  return changed;
}

}  // namespace torchlet::passes
