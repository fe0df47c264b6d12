#include "passes/attributes.h"

#include <algorithm>
#include <map>
#include <string>

#include "graph/prim_kinds.h"

namespace torchlet::passes {
namespace {

// What attributes hold, as far as it is known.
using Stored = std::map<Slot, SsaValue*>;
constexpr size_t kMostStored = 64;  // of what a branch is told, since each gets a copy

bool may_store(const Node& node) {
  const Symbol kind = node.kind();
  if (kind == prim::kSetAttr || kind == prim::kCallMethod || kind == prim::kCallFunction ||
      kind == prim::kEnter || kind == prim::kExit) {
    return true;
  }
  for (const Block* inner : node.blocks()) {
    for (const Node* deeper : *inner) {
      if (may_store(*deeper)) return true;
    }
  }
  return false;
}

void store(const Node& node, KnownObjects& objects, Stored& stored) {
  if (const auto slot = objects.slot(node)) {
    stored[*slot] = node.input(1);
    return;
  }
  const std::string& name = node.string_attribute("name");  // of any object
  std::erase_if(stored, [&](const auto& known) {
    const auto& [object, index] = known.first;
    return object->type->attributes()[index].name == name;
  });
}

bool load(Node& node, KnownObjects& objects, const Stored& stored) {
  const auto slot = objects.slot(node);
  const auto found = slot ? stored.find(*slot) : stored.end();
  if (found == stored.end()) return false;
  node.output()->replace_all_uses_with(found->second);
  node.destroy();
  return true;
}

bool forward(Block& block, KnownObjects& objects, Stored stored) {
  bool changed = false;
  for (Node* node = block.first(); node;) {
    Node* next = node->next();
    // A loop comes back to its beginning with what it has stored.
    const bool is_branch = node->kind() == prim::kIf && stored.size() <= kMostStored;
    for (Block* inner : node->blocks()) {
      changed = forward(*inner, objects, is_branch ? stored : Stored()) || changed;
    }
    if (node->kind() == prim::kSetAttr) {
      store(*node, objects, stored);
    } else if (node->kind() == prim::kGetAttr) {
      changed = load(*node, objects, stored) || changed;
    } else if (may_store(*node)) {
      stored.clear();
    }
    node = next;
  }
  return changed;
}

}  // namespace

bool forward_attributes(Graph& graph, KnownObjects& objects) {
  return forward(*graph.block(), objects, {});
}

}  // namespace torchlet::passes
