#include "lite/write/lifetimes.h"

#include <algorithm>

#include "graph/prim_kinds.h"

namespace torchlet::lite {
namespace {

// Trees of nodes that are run for each other grow no deeper, since whoever walks them recurses.
constexpr int kMaxTreeDepth = 100;

const Node* skip_constants(const Node* node) {
  while (node && node->kind() == prim::kConstant) node = node->prev();
  return node;
}

// Nodes with blocks are not, since a block that runs again must find what it reads.
bool may_be_on_stack(const Node& node) {
  return node.blocks().empty() && node.outputs().size() == 1 && node.output()->users().size() == 1;
}

}  // namespace

Lifetimes::Lifetimes(const Graph& graph) { find_ends(*graph.block()); }

bool Lifetimes::is_last_read(const SsaValue* value) {
  const auto found = reads_left_.find(value);
  return found != reads_left_.end() && --found->second == 0;
}

const std::vector<const SsaValue*>& Lifetimes::ends_after(const Node* node) const {
  static const std::vector<const SsaValue*> none;
  const auto found = ends_after_.find(node);
  return found == ends_after_.end() ? none : found->second;
}

void Lifetimes::find_ends(const Block& block) {
  find_trees(block);
  std::unordered_map<const Node*, size_t> order;
  for (const Node* node : block) order.emplace(node, order.size());
  order.emplace(block.return_node(), order.size());
  for (const SsaValue* value : block.inputs()) find_ends(value, block, order);
  for (const Node* node : block) {
    if (node->kind() != prim::kConstant) {
      for (const SsaValue* value : node->outputs()) find_ends(value, block, order);
    }
    for (const Block* inner : node->blocks()) find_ends(*inner);
  }
}

void Lifetimes::find_ends(const SsaValue* value, const Block& block,
                          const std::unordered_map<const Node*, size_t>& order) {
  const Node* last = nullptr;
  bool inside = false;  // of a block of `last`
  for (const Node* user : value->users()) {
    const Node* own = user;
    while (own->owner() != &block) own = own->owner()->owner();
    if (!last || order.at(own) > order.at(last)) {
      last = own;
      inside = false;
    }
    if (own == last && own != user) inside = true;
  }
  if (inside) {
    ends_after_[last].push_back(value);
  } else if (last) {
    reads_left_.emplace(value, value->users().size());
  }
}

// Backwards from each reader: what lies on the stack is what was run last.
void Lifetimes::find_trees(const Block& block) {
  find_tree(block.return_node(), block.last(), 0);
  for (const Node* node = block.last(); node; node = node->prev()) {
    if (!is_on_stack(node)) find_tree(node, node->prev(), 0);
  }
}

// Returns what runs before the tree of `root`, which stands behind `before`.
const Node* Lifetimes::find_tree(const Node* root, const Node* before, int depth) {
  before = skip_constants(before);
  if (depth == kMaxTreeDepth) return before;
  const std::vector<SsaValue*>& inputs = root->inputs();
  for (auto input = inputs.rbegin(); before && input != inputs.rend(); ++input) {
    if ((*input)->node() != before || !may_be_on_stack(*before)) continue;
    on_stack_.insert(before);
    before = find_tree(before, before->prev(), depth + 1);
  }
  return before;
}

}  // namespace torchlet::lite
