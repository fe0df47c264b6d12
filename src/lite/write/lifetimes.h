// Where the values of a graph are while its code runs: on the stack between the node that makes one
// and the only node that reads it, or else in a register until nobody needs it any more.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"

namespace torchlet::lite {

class Lifetimes {
 public:
  explicit Lifetimes(const Graph& graph);

  // Is the node run when its reader takes its result, which so never needs a register? Nothing
  // runs in another order for that.
  bool is_on_stack(const Node* node) const { return on_stack_.contains(node); }
  // To be told of each read of a register as it is emitted; true if it is the last.
  bool is_last_read(const SsaValue* value);
  // What is read for the last time in a block of the node, which may run any number of times.
  const std::vector<const SsaValue*>& ends_after(const Node* node) const;

 private:
  void find_ends(const Block& block);
  void find_ends(const SsaValue* value, const Block& block,
                 const std::unordered_map<const Node*, size_t>& order);
  void find_trees(const Block& block);
  const Node* find_tree(const Node* root, const Node* before, int depth);

  std::unordered_set<const Node*> on_stack_;
  std::unordered_map<const SsaValue*, size_t> reads_left_;
  std::unordered_map<const Node*, std::vector<const SsaValue*>> ends_after_;
};

}  // namespace torchlet::lite
