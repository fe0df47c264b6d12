#include "passes/fold_written.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"

namespace torchlet::passes {
namespace {

// The memory that one node makes, and what the graph does with it up to the last write.
class WrittenMemory {
 public:
  WrittenMemory(Node& maker, const std::vector<const Node*>& writers, const AliasAnalysis& aliases,
                FoldBudget& budget)
      : maker_(maker), writers_(writers), aliases_(aliases), budget_(budget) {}

  bool fold() {
    Node* const last = last_writer();
    if (!last || !run_to(*last)) return false;
    std::vector<Value> kept;
    for (Node* node : run_) {
      for (SsaValue* output : node->outputs()) {
        if (!is_read_later(*output)) continue;
        if (!may_keep(*output)) return false;
        kept.push_back(known_.at(output));
      }
    }
    if (!may_grow(given_, kept, budget_)) return false;
    for (Node* node : run_) {
      for (SsaValue* output : node->outputs()) {
        if (is_read_later(*output)) replace_by_constant(*output, known_.at(output));
      }
    }
    for (size_t i = run_.size(); i-- > 0;) run_[i]->destroy();
    return true;
  }

 private:
  bool has(const SsaValue* value) const {
    if (value->node()->kind() == prim::kConstant) return false;  // may be newer than `aliases_`
    const std::vector<const Node*> makers = aliases_.makers_within(value);
    return std::ranges::find(makers, &maker_) != makers.end();
  }

  // The last node of this block that writes it; null if another block does, too.
  Node* last_writer() const {
    Node* last = nullptr;
    size_t found = 0;
    for (Node* node = maker_.next(); node; node = node->next()) {
      if (std::ranges::find(writers_, node) == writers_.end()) continue;
      last = node;
      ++found;
    }
    return found == writers_.size() ? last : nullptr;
  }

  bool run_to(const Node& last) {
    for (Node* node = &maker_;; node = node->next()) {
      if (!run(*node)) return false;
      if (node == &last) return true;
    }
  }

  // What reads or writes the memory has to be known; what else follows from it may be.
  bool run(Node& node) {
    if (!node.blocks().empty()) return !reads_inside(node);
    bool is_known = true, follows = &node == &maker_, touches = false;
    std::vector<Value> inputs;
    for (const SsaValue* input : node.inputs()) {
      const auto made = known_.find(input);
      const Value* constant = made == known_.end() ? constant_of(input) : &made->second;
      follows |= made != known_.end();
      touches |= has(input);
      is_known &= constant != nullptr;
      if (constant) inputs.push_back(*constant);
    }
    if (!is_known) return !touches;
    if (!follows) return true;
    std::vector<Value> results(node.outputs().size());
    if (run_.size() == kMostNodes || node.outputs().empty() || !may_run(node) ||
        !evaluate(node, inputs, budget_, results)) {
      return !touches && &node != &maker_;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!known_.contains(node.input(i))) given_.push_back(inputs[i]);
    }
    for (size_t i = 0; i < results.size(); ++i) known_.emplace(node.output(i), results[i]);
    run_.push_back(&node);
    return true;
  }

  bool reads_inside(Node& node) const {
    bool reads = false;
    for (Block* block : node.blocks()) {
      for_each_node(*block, [&](const Node& inner) {
        reads |= std::ranges::any_of(inner.inputs(), [&](const SsaValue* v) { return has(v); });
      });
      reads |= std::ranges::any_of(block->outputs(), [&](const SsaValue* v) { return has(v); });
    }
    return reads || std::ranges::any_of(node.inputs(), [&](const SsaValue* v) { return has(v); });
  }

  // Writes this memory alone, and gives the same in each run.
  bool may_run(const Node& node) const {
    if (is_pure(node)) return true;
    if (!node.op() || varies(node)) return false;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (writes_input(node, i) && !(known_.contains(node.input(i)) && has(node.input(i)))) {
        return false;
      }
    }
    return writes_inputs(node);
  }

  bool is_read_later(const SsaValue& output) const {
    return std::ranges::any_of(output.users(), [&](const Node* user) {
      return std::ranges::find(run_, user) == run_.end();
    });
  }

  bool may_keep(const SsaValue& output) const {
    const Value& value = known_.at(&output);
    if (is_immutable(value)) return true;
    if (value.is_object() || value.is_future()) return false;
    return has(&output) || !(aliases_.is_written(&output) || aliases_.escapes(&output));
  }

  static constexpr size_t kMostNodes = 1000;

  Node& maker_;
  const std::vector<const Node*>& writers_;
  const AliasAnalysis& aliases_;
  FoldBudget& budget_;
  std::unordered_map<const SsaValue*, Value> known_;
  std::vector<Node*> run_;  // in order
  std::vector<Value> given_;
};

}  // namespace

bool fold_written(Graph& graph, const AliasAnalysis& aliases, FoldBudget& budget) {
  std::unordered_map<const Node*, std::vector<const Node*>> writers;  // by maker
  std::vector<Node*> makers;
  for_each_node(*graph.block(), [&](Node& node) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (!writes_input(node, i) || node.input(i)->node()->kind() == prim::kConstant) continue;
      for (const Node* maker : aliases.makers_within(node.input(i))) {
        std::vector<const Node*>& of_maker = writers[maker];
        if (of_maker.empty() || of_maker.back() != &node) of_maker.push_back(&node);
      }
    }
    const bool is_made_of_constants =
        node.op() && node.outputs().size() == 1 && is_pure(node) && !returns_alias(node) &&
        std::ranges::all_of(node.inputs(), [](const SsaValue* v) { return constant_of(v); });
    if (is_made_of_constants && node.output()->type()->is(TypeKind::kTensor)) {
      makers.push_back(&node);
    }
  });
  bool changed = false;
  for (Node* maker : makers) {
    const auto of_maker = writers.find(maker);
    if (of_maker == writers.end() || aliases.escapes(maker->output())) continue;
    changed |= WrittenMemory(*maker, of_maker->second, aliases, budget).fold();
  }
  return changed;
}

}  // namespace torchlet::passes
