#include "passes/dead_code.h"

#include <algorithm>

#include "graph/prim_kinds.h"
#include "passes/analysis/effects.h"

namespace torchlet::passes {
namespace {

bool is_unused(const Node& node) {
  return std::ranges::all_of(node.outputs(), [](const SsaValue* o) { return o->users().empty(); });
}

bool drop_branch_outputs(Node& node) {
  bool changed = false;
  for (size_t i = node.outputs().size(); i-- > 0;) {
    if (!node.output(i)->users().empty()) continue;
    node.remove_output(i);
    for (Block* block : node.blocks()) block->remove_output(i);
    changed = true;
  }
  return changed;
}

// Is a loop's parameter read for nothing but its own next value?
bool only_carries_itself(const Block& body, const SsaValue* parameter, const SsaValue* next) {
  if (std::ranges::count(body.outputs(), next) != 1) return parameter->users().empty();
  return std::ranges::all_of(parameter->users(), [&](const Node* user) {
    if (user == body.return_node()) return next == parameter;
    return user == next->node() && user->outputs().size() == 1 && next->users().size() == 1 &&
           is_removable(*user);
  });
}

// A carried value that nobody needs.
bool drop_carried(Node& node) {
  Block& body = *node.block(0);
  bool changed = false;
  for (size_t i = node.outputs().size(); i-- > 0;) {
    const SsaValue *parameter = body.inputs()[i + 1], *next = body.outputs()[i + 1];
    if (!node.output(i)->users().empty() || !only_carries_itself(body, parameter, next)) continue;
    body.remove_output(i + 1);
    if (!parameter->users().empty()) next->node()->destroy();
    body.remove_input(i + 1);
    node.remove_input(i + 2);
    node.remove_output(i);
    changed = true;
  }
  return changed;
}

bool clean(Block& block) {
  bool changed = false;
  for (Node* node = block.last(); node;) {
    Node* before = node->prev();
    if (is_unused(*node) && is_removable(*node)) {
      node->destroy();
      changed = true;
    } else {
      if (node->kind() == prim::kIf) changed = drop_branch_outputs(*node) || changed;
      if (node->kind() == prim::kLoop) changed = drop_carried(*node) || changed;
      for (Block* inner : node->blocks()) changed = clean(*inner) || changed;
    }
    node = before;
  }
  return changed;
}

}  // namespace

bool remove_dead_code(Graph& graph) {
  bool any = false;
  while (clean(*graph.block())) any = true;
  return any;
}

}  // namespace torchlet::passes
