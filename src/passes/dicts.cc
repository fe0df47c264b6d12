#include "passes/dicts.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "tensor/containers.h"

namespace torchlet::passes {
namespace {

const Symbol kDict("aten::dict"), kSetItem("aten::_set_item"), kGetItem("aten::__getitem__");

const std::string* constant_key(const Node& node) {
  const Value* key = constant_of(node.input(1));
  return key && key->is_string() ? &key->to_string() : nullptr;
}

bool is_set(const Node& node, const SsaValue* dict) {
  return node.kind() == kSetItem && node.input(0) == dict && node.input(2) != dict &&
         constant_key(node);
}

bool is_empty_dict(const Node& node) {
  const bool made = node.kind() == prim::kDictConstruct || node.kind() == kDict;
  return made && node.inputs().empty() && node.output()->type()->is(TypeKind::kDict);
}

bool forward(Node& made) {
  SsaValue* dict = made.output();
  bool changed = false;
  std::unordered_map<std::string, SsaValue*> items;
  // From the making on, as long as every use is understood.
  for (Node* node = made.next(); node;) {
    Node* next = node->next();
    const bool uses = std::ranges::find(node->inputs(), dict) != node->inputs().end();
    const bool uses_inside =
        !node->blocks().empty() && std::ranges::any_of(dict->users(), [&](const Node* user) {
          const Node* own = user;
          while (own && own->owner() != made.owner()) own = own->owner()->owner();
          return own == node && user != node;
        });
    if (uses_inside) break;
    if (uses && is_set(*node, dict)) {
      items[*constant_key(*node)] = node->input(2);
    } else if (uses) {
      const std::string* key = node->kind() == kGetItem ? constant_key(*node) : nullptr;
      const auto item = key ? items.find(*key) : items.end();
      if (item == items.end()) break;
      node->output()->replace_all_uses_with(item->second);
      node->destroy();
      changed = true;
    }
    node = next;
  }
  const std::vector<Node*> users = dict->users();
  if (!std::ranges::all_of(users, [&](const Node* user) { return is_set(*user, dict); })) {
    return changed;
  }
  for (Node* user : users) user->destroy();
  return changed || !users.empty();
}

bool forward(Block& block) {
  bool changed = false;
  for (Node* node = block.first(); node; node = node->next()) {
    for (Block* inner : node->blocks()) changed = forward(*inner) || changed;
    if (is_empty_dict(*node)) changed = forward(*node) || changed;
  }
  return changed;
}

}  // namespace

bool forward_dict_items(Graph& graph) { return forward(*graph.block()); }

}  // namespace torchlet::passes
