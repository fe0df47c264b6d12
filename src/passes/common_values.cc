#include "passes/common_values.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "tensor/containers.h"

namespace torchlet::passes {
namespace {

class Sharer {
 public:
  explicit Sharer(const AliasAnalysis& aliases) : aliases_(aliases) {}

  // What was computed before and outside is seen inside, but not the other way round.
  bool block(Block& block) {
    bool changed = false;
    std::vector<std::string> own;
    for (Node* node = block.first(); node;) {
      Node* next = node->next();
      for (Block* inner : node->blocks()) changed = this->block(*inner) || changed;
      if (may_share(*node)) {
        std::string key = key_of(*node);
        const auto [found, is_new] = known_.try_emplace(key, node);
        if (is_new) {
          own.push_back(std::move(key));
        } else {
          for (size_t i = 0; i < node->outputs().size(); ++i) {
            node->output(i)->replace_all_uses_with(found->second->output(i));
          }
          node->destroy();
          changed = true;
        }
      }
      node = next;
    }
    for (const std::string& key : own) known_.erase(key);
    return changed;
  }

 private:
  bool may_share(const Node& node) const {
    if (!node.op() || !is_pure(node)) return false;
    const auto is_plain = [](const SsaValue* value) { return !is_mutable(*value->type()); };
    if (!std::ranges::all_of(node.outputs(), is_plain)) return false;
    return std::ranges::all_of(node.inputs(), [&](const SsaValue* input) {
      if (const Value* constant = constant_of(input)) return is_immutable(*constant);
      return is_plain(input) || !aliases_.is_written(input);
    });
  }

  static std::string key_of(const Node& node) {
    std::string key = node.op()->schema.full_name();
    for (const SsaValue* input : node.inputs()) {
      const Value* constant = constant_of(input);
      // Text is the same for what is the same; of a tuple it may be long.
      const bool plain = constant && !constant->is_tuple();
      key += plain ? std::string(" ") + constant->kind_name() + " " + to_text(*constant)
                   : " %" + std::to_string(input->id());
    }
    return key;
  }

  const AliasAnalysis& aliases_;
  std::unordered_map<std::string, const Node*> known_;
};

}  // namespace

bool share_common_values(Graph& graph, const AliasAnalysis& aliases) {
  return Sharer(aliases).block(*graph.block());
}

}  // namespace torchlet::passes
