#include "passes/unroll.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "graph/clone.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"

namespace torchlet::passes {
namespace {

constexpr int64_t kMostTrips = 64;
// Of the trips of one loop: a long program of tensors gains little from being a single piece.
constexpr size_t kMostNodes = 1024;

class Unroller {
 public:
  Unroller(Node& loop, FoldBudget& budget, size_t most_nodes)
      : loop_(loop), body_(*loop.block(0)), budget_(budget), most_nodes_(most_nodes) {
    keep_inputs(body_);
  }

  // How many nodes the trips have; nothing if the loop stays, unchanged.
  std::optional<size_t> run() {
    const Value *most = constant_of(loop_.input(0)), *begins = constant_of(loop_.input(1));
    if (!most || !most->is_int() || !begins || !begins->is_bool()) return std::nullopt;
    const size_t size = count_nodes(body_);
    const bool counts = constant_of(body_.outputs()[0]) != nullptr;
    if (counts && !may_take(most->to_int(), size)) return std::nullopt;
    Node* const before = loop_.prev();
    std::vector<SsaValue*> carried(loop_.inputs().begin() + 2, loop_.inputs().end());
    std::optional<bool> again = begins->to_bool();
    int64_t trip = 0;
    for (; trip < most->to_int() && again == true; ++trip) {
      again = may_take(trip + 1, size) ? take(trip, carried) : std::nullopt;
    }
    if (!again) {
      while (loop_.prev() != before) loop_.prev()->destroy();
      return std::nullopt;
    }
    for (size_t i = 0; i < carried.size(); ++i) {
      loop_.output(i)->replace_all_uses_with(carried[i]);
    }
    loop_.destroy();
    return static_cast<size_t>(trip) * size;
  }

 private:
  // What the nodes read is the same in each trip, unless a trip makes it.
  void keep_inputs(const Block& block) {
    const auto keep = [this](const Node& node) {
      for (SsaValue* input : node.inputs()) values_.emplace(input, input);
    };
    for (const Node* node : block) {
      keep(*node);
      for (const Block* inner : node->blocks()) keep_inputs(*inner);
    }
    keep(*block.return_node());
  }

  bool may_take(int64_t trips, size_t size) const {
    return trips <= kMostTrips && static_cast<size_t>(trips) * size <= most_nodes_;
  }

  // Puts a trip before the loop; is there another after it? Nothing if that is not known.
  std::optional<bool> take(int64_t trip, std::vector<SsaValue*>& carried) {
    SsaValue* number = insert_constant(&loop_, Value(trip), types::integer());
    values_[body_.inputs()[0]] = number;
    for (size_t i = 0; i < carried.size(); ++i) values_[body_.inputs()[i + 1]] = carried[i];
    for (const Node* node : body_) {
      clone_node(*node, *loop_.graph(), values_)->insert_before(&loop_);
    }
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = values_.at(body_.outputs()[i + 1]);
    const auto again = known(values_.at(body_.outputs()[0]));
    return again && again->is_bool() ? std::optional(again->to_bool()) : std::nullopt;
  }

  // A number that follows from constants. What earlier trips computed is remembered, so each trip
  // asks for its own nodes alone.
  std::optional<Value> known(const SsaValue* value) {
    if (const Value* constant = constant_of(value)) return *constant;
    if (const auto found = known_.find(value); found != known_.end()) return found->second;
    const Node& node = *value->node();
    if (!node.op() || node.outputs().size() != 1 || !is_pure(node)) return std::nullopt;
    std::vector<Value> inputs, results(1);
    for (const SsaValue* input : node.inputs()) {
      auto argument = known(input);
      if (!argument) return std::nullopt;
      inputs.push_back(std::move(*argument));
    }
    if (!evaluate(node, inputs, budget_, results) || !is_immutable(results[0])) return std::nullopt;
    return known_[value] = std::move(results[0]);
  }

  Node& loop_;
  const Block& body_;
  FoldBudget& budget_;
  const size_t most_nodes_;
  ValueMap values_;  // what those of the body are in this trip
  std::unordered_map<const SsaValue*, Value> known_;
};

// Not in a loop of its own, which knows better which.
bool picks_modules(const Block& block) {
  for (const Node* node : block) {
    if (node->kind() == prim::kModuleContainerIndex) return true;
    if (node->kind() == prim::kLoop) continue;
    for (const Block* inner : node->blocks()) {
      if (picks_modules(*inner)) return true;
    }
  }
  return false;
}

bool unroll(Block& block, FoldBudget& budget, size_t& left, bool that_pick) {
  bool changed = false;
  for (Node* node = block.first(); node;) {
    Node* next = node->next();
    std::optional<size_t> added;
    if (node->kind() == prim::kLoop && (!that_pick || picks_modules(*node->block(0)))) {
      added = Unroller(*node, budget, std::min(left, kMostNodes)).run();
    }
    if (added) {
      left -= *added;
      changed = true;
    } else {
      for (Block* inner : node->blocks())
        changed = unroll(*inner, budget, left, that_pick) || changed;
    }
    node = next;
  }
  return changed;
}

}  // namespace

bool unroll_loops(Graph& graph, FoldBudget& budget, size_t most_nodes, bool that_pick) {
  const size_t count = count_nodes(*graph.block());
  size_t left = most_nodes - std::min(count, most_nodes);
  return unroll(*graph.block(), budget, left, that_pick);
}

}  // namespace torchlet::passes
