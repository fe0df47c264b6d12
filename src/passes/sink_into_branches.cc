#include "passes/sink_into_branches.h"

#include <algorithm>

#include "graph/prim_kinds.h"
#include "passes/analysis/effects.h"

namespace torchlet::passes {
namespace {

// The branch of an If of the same block that holds all users, or null.
Block* branch_of_users(const Node& node) {
  Block* found = nullptr;
  for (const SsaValue* output : node.outputs()) {
    for (const Node* user : output->users()) {
      Block* branch = user->owner();
      if (branch == node.owner()) return nullptr;
      while (branch->owner()->owner() != node.owner()) branch = branch->owner()->owner();
      if (branch->owner()->kind() != prim::kIf || (found && found != branch)) return nullptr;
      found = branch;
    }
  }
  return found;
}

// The sizes of a tensor, in a list that nobody changes.
bool is_fresh_size(const SsaValue* list) {
  static const Symbol kSize("aten::size");
  return list->node()->kind() == kSize && std::ranges::none_of(list->users(), [](const Node* user) {
           return writes_inputs(*user) || (returns_alias(*user) && user->op());
         });
}

// What it reads may have changed when the branch is reached.
bool reads_memory(const Node& node) {
  for (const SsaValue* input : node.inputs()) {
    switch (input->type()->kind()) {
      case TypeKind::kInt:
      case TypeKind::kFloat:
      case TypeKind::kBool:
      case TypeKind::kString:
      case TypeKind::kNone:
        break;
      case TypeKind::kList:
        if (!is_fresh_size(input)) return true;
        break;
      default:
        return true;
    }
  }
  return false;
}

// A dict that is filled later would cut what lies in between in two segments.
bool is_empty_container(const Node& node) {
  return node.inputs().empty() && node.outputs().size() == 1 &&
         node.output()->type()->is(TypeKind::kDict);
}

bool move_to_first_use(Node& node) {
  const std::vector<Node*>& users = node.output()->users();
  for (Node* next = node.next(); next; next = next->next()) {
    const bool uses = std::ranges::any_of(users, [&](const Node* user) {
      while (user && user != next) user = user->owner()->owner();
      return user == next;
    });
    if (!uses) continue;
    if (next == node.next()) return false;
    node.move_before(next);
    return true;
  }
  return false;
}

bool sink(Block& block) {
  bool changed = false;
  for (Node* node = block.last(); node;) {
    Node* before = node->prev();
    for (Block* inner : node->blocks()) changed = sink(*inner) || changed;
    if (node->blocks().empty() && node->kind() != prim::kConstant && !reads_memory(*node) &&
        is_removable(*node)) {
      Block* branch = branch_of_users(*node);
      if (branch && branch->first()) {
        node->move_before(branch->first());
        changed = true;
      } else if (is_empty_container(*node)) {
        changed = move_to_first_use(*node) || changed;
      }
    }
    node = before;
  }
  return changed;
}

}  // namespace

bool sink_into_branches(Graph& graph) { return sink(*graph.block()); }

}  // namespace torchlet::passes
