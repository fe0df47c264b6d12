#include "passes/lists.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "graph/prim_kinds.h"
#include "passes/analysis/effects.h"

namespace torchlet::passes {
namespace {

const Symbol kAppend("aten::append");

using Order = std::unordered_map<const Node*, size_t>;

// The node of `block` that `user` is or lies in.
Node* own_node(Node* user, const Block* block) {
  while (user->owner() != block) user = user->owner()->owner();
  return user;
}

// Reads the items and keeps nothing of the list itself, so that another list of them would do.
bool reads_items(const Node& user) {
  return user.op() && !writes_inputs(user) && !user.outputs().empty() &&
         std::ranges::all_of(user.outputs(), [](const SsaValue* output) {
           const TypeKind kind = output->type()->kind();
           return kind == TypeKind::kTensor || kind == TypeKind::kInt || kind == TypeKind::kBool;
         });
}

// What happens to a list until its last append, in order; nothing if that is more than appending
// and reading.
struct Use {
  Node* user;
  size_t order;
  bool is_append;
};
std::vector<Use> uses_of(const SsaValue* list, const Order& order) {
  Block* block = list->node()->owner();
  std::vector<Use> uses;
  size_t last = 0;
  for (Node* user : list->users()) {
    const bool is_append = user->kind() == kAppend && user->owner() == block &&
                           user->input(0) == list && user->input(1) != list &&
                           user->output()->users().empty();
    const auto at = order.find(own_node(user, block));
    const size_t when = at == order.end() ? order.size() : at->second;  // a return is the end
    uses.push_back({user, when, is_append});
    if (is_append) last = std::max(last, when);
  }
  std::erase_if(uses, [&](const Use& use) { return use.order > last; });
  std::ranges::sort(uses, {}, &Use::order);
  const bool understood = std::ranges::all_of(
      uses, [](const Use& use) { return use.is_append || reads_items(*use.user); });
  return understood ? uses : std::vector<Use>();
}

// Who reads before the last append gets a list of what there is by then.
void merge(Node& list, const std::vector<Use>& uses, Order& order) {
  SsaValue* current = nullptr;
  for (const Use& use : uses) {
    if (use.is_append) {
      list.add_input(use.user->input(1));
      current = nullptr;
      continue;
    }
    if (!current) {
      Node* made = list.graph()->create(prim::kListConstruct, list.inputs());
      made->set_range(list.range());
      made->set_inlined_call(list.inlined_call());
      made->insert_before(own_node(use.user, list.owner()));
      order[made] = use.order;
      current = made->add_output(list.output()->type());
    }
    for (size_t i = 0; i < use.user->inputs().size(); ++i) {
      if (use.user->input(i) == list.output()) use.user->replace_input(i, current);
    }
  }
  list.move_before(uses.back().user);
  for (const Use& use : uses) {
    if (use.is_append) use.user->destroy();
  }
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
    const std::vector<Use> uses = uses_of(list->output(), order);
    if (uses.empty()) continue;
    order[list] = uses.back().order;
    merge(*list, uses, order);
    changed = true;
  }
  return changed;
}

}  // namespace

bool merge_appends(Graph& graph) { return merge(*graph.block()); }

}  // namespace torchlet::passes
