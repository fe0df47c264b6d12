#include "passes/dead_code.h"

#include <algorithm>

#include "graph/prim_kinds.h"
#include "passes/effects.h"

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

// A carried value that only carries itself.
bool drop_carried(Node& node) {
  Block& body = *node.block(0);
  bool changed = false;
  for (size_t i = node.outputs().size(); i-- > 0;) {
    SsaValue* parameter = body.inputs()[i + 1];
    const SsaValue* next = body.outputs()[i + 1];
    const auto& users = parameter->users();
    const bool only_carried = users.empty() || (users.size() == 1 && next == parameter);
    if (!node.output(i)->users().empty() || !only_carried) continue;
    body.remove_output(i + 1);
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
