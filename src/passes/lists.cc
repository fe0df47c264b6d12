#include "passes/lists.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "graph/prim_kinds.h"

namespace torchlet::passes {
namespace {

const Symbol kAppend("aten::append");

using Order = std::unordered_map<const Node*, size_t>;

// The appends to the list in order, if nobody else uses it before the last of them.
std::vector<Node*> appends_of(const SsaValue* list, const Order& order) {
  std::vector<Node*> appends;
  size_t first_other = order.size() + 1;
  for (Node* user : list->users()) {
    const bool is_append = user->kind() == kAppend && user->owner() == list->node()->owner() &&
                           user->input(0) == list && user->input(1) != list &&
                           user->output()->users().empty();
    if (is_append) {
      appends.push_back(user);
      continue;
    }
    const Node* own = user;
    while (own->owner() != list->node()->owner()) own = own->owner()->owner();
    const auto at = order.find(own);
    first_other = std::min(first_other, at == order.end() ? order.size() : at->second);
  }
  std::ranges::sort(appends, {}, [&](const Node* node) { return order.at(node); });
  if (!appends.empty() && order.at(appends.back()) > first_other) return {};
  return appends;
}

bool merge(Block& block) {
  bool changed = false;
  Order order;
  std::vector<Node*> lists;
  for (Node* node : block) {
    order.emplace(node, order.size());
    for (Block* inner : node->blocks()) changed = merge(*inner) || changed;
    if (node->kind() == prim::kListConstruct && node->output()->type()->is(TypeKind::kList)) {
      lists.push_back(node);
    }
  }
  for (Node* list : lists) {
    const std::vector<Node*> appends = appends_of(list->output(), order);
    if (appends.empty()) continue;
    list->move_before(appends.back());
    order[list] = order.at(appends.back());
    for (Node* append : appends) {
      list->add_input(append->input(1));
      append->destroy();
    }
    changed = true;
  }
  return changed;
}

}  // namespace

bool merge_appends(Graph& graph) { return merge(*graph.block()); }

}  // namespace torchlet::passes
