#include "passes/ranks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/prim_kinds.h"
#include "ops/core/derived.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "tensor/containers.h"

namespace torchlet::passes {
namespace {

// A program may write any number; no tensor has so many dimensions.
constexpr int64_t kMostRank = int64_t{1} << 20;

// Changes the number of dimensions of a tensor that other values name.
bool changes_rank_in_place(const Node& node) {
  if (!node.op()) return false;
  const Facts& facts = *node.op()->facts;
  return facts.changes_sizes ||
         (ops::is_inplace_view_variant(*node.op()) && facts.rank != RankRule::kFirst);
}

class Ranks {
 public:
  Ranks(Graph& graph, bool folds)
      : graph_(graph), folds_(folds), parent_(graph.num_values(), nullptr) {}

  bool run() {
    bool unsafe = false;
    for_each_node(*graph_.block(), [&](Node& node) {
      unsafe = unsafe || changes_rank_in_place(node) || node.kind() == prim::kCallFunction ||
               node.kind() == prim::kCallMethod;
    });
    if (!unsafe) block(*graph_.block());
    return changed_;
  }

  std::unordered_map<const SsaValue*, int64_t> known() {
    std::unordered_map<const SsaValue*, int64_t> known;
    for_each_node(*graph_.block(), [&](const Node& node) {
      for (const SsaValue* output : node.outputs()) {
        if (const auto found = rank(output)) known[output] = *found;
      }
    });
    return known;
  }

 private:
  struct Fact {
    const SsaValue* value;
    int64_t rank;
    bool equal;
  };

  // Values of the same rank form a tree; the root has the rank, once it is known.
  const SsaValue* root(const SsaValue* value) {
    while (parent_[value->id()]) value = parent_[value->id()];
    return value;
  }
  void same_rank(const SsaValue* a, const SsaValue* b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    const auto known_a = rank(a), known_b = rank(b);
    parent_[a->id()] = b;
    if (known_a && !known_b) set_rank(b, *known_a);
  }
  std::optional<int64_t> rank(const SsaValue* value) {
    if (const Value* constant = constant_of(value)) {
      if (constant->is_tensor()) return constant->to_tensor().dim();
    }
    const auto found = ranks_.find(root(value));
    return found == ranks_.end() ? std::nullopt : std::optional(found->second);
  }
  void set_rank(const SsaValue* value, int64_t rank) {
    if (rank < 0 || rank > kMostRank) return;
    if (ranks_.emplace(root(value), rank).second) set_here_.push_back(root(value));
  }

  void block(Block& block) {
    for (Node* node = block.first(); node;) {
      Node* next = node->next();
      this->node(*node);
      node = next;
    }
  }

  // What holds only inside is forgotten at the end. Trees stay: who is in one keeps its rank.
  void scoped(Block& block, const std::vector<Fact>& facts, bool holds) {
    const size_t outer = set_here_.size();
    for (const Fact& fact : facts) {
      if (fact.equal == holds) set_rank(fact.value, fact.rank);
    }
    this->block(block);
    while (set_here_.size() > outer) {
      ranks_.erase(set_here_.back());
      set_here_.pop_back();
    }
  }

  void node(Node& node) {
    if (node.kind() == prim::kIf) return branch(node);
    for (Block* inner : node.blocks()) scoped(*inner, {}, true);
    if (!node.op() || node.outputs().empty()) return;
    if (node.kind() == kDim) {
      ask_earlier(node);
      return replace(node, *node.input(0));
    }
    if (node.kind() == kLen && node.input(0)->node()->kind() == kSize &&
        node.input(0)->node()->inputs().size() == 1) {
      return replace(node, *node.input(0)->node()->input(0));
    }
    SsaValue* output = node.output();
    if (!output->type()->is(TypeKind::kTensor)) return;
    switch (node.op()->facts->rank) {
      case RankRule::kFirst:
        return same_rank(output, node.input(0));
      case RankRule::kLargest:
        return broadcast(node);
      case RankRule::kLength:
        if (const auto length = length_of_ints(node)) set_rank(output, *length);
        return;
      case RankRule::kOneMore:
        if (const auto known = rank(node.input(0))) set_rank(output, *known + 1);
        return;
      case RankRule::kProduct:
        return product(node);
      case RankRule::kJoined:
        return join(node);
      case RankRule::kEquation:
        if (const Value* text = constant_of(node.input(0))) equation(*text, output);
        return;
      case RankRule::kUnknown:
        if (node.kind() == kFlatten) flatten(node);
    }
  }

  // Of the first list of ints among the arguments.
  static std::optional<int64_t> length_of_ints(const Node& node) {
    for (const SsaValue* input : node.inputs()) {
      if (!input->type()->is(TypeKind::kList)) continue;
      if (const auto* items = lasting_items(input)) return static_cast<int64_t>(items->size());
      const Value* known = constant_of(input);
      if (!known || !known->is_list()) return std::nullopt;
      return static_cast<int64_t>(known->list_ref().items.size());
    }
    return std::nullopt;
  }

  void flatten(const Node& node) {
    const Value* start = constant_argument(node, "start_dim");
    const Value* end = constant_argument(node, "end_dim");
    const bool to_end = start && start->is_int() && end && end->is_int() && end->to_int() == -1;
    if (to_end && start->to_int() >= 0 && start->to_int() < kMostRank) {
      set_rank(node.output(), start->to_int() + 1);
    }
  }

  void product(const Node& node) {
    const auto rank_a = rank(node.input(0)), rank_b = rank(node.input(1));
    if (rank_b == 2) return same_rank(node.output(), node.input(0));
    if (rank_a && rank_b) set_rank(node.output(), *rank_a + *rank_b - 2);
  }

  // Concatenated tensors have one rank, but that empty vectors do not count.
  void join(const Node& node) {
    const auto* items = lasting_items(node.input(0));
    if (!items) return;
    for (const SsaValue* item : *items) {
      const auto known = rank(item);
      if (known && *known != 1) return set_rank(node.output(), *known);
    }
  }

  void equation(const Value& text, const SsaValue* output) {
    if (!text.is_string()) return;
    const std::string& all = text.to_string();
    const size_t arrow = all.find("->");
    if (arrow == std::string::npos || all.find('.', arrow) != std::string::npos) return;
    set_rank(output, std::ranges::count_if(all.begin() + static_cast<ptrdiff_t>(arrow) + 2,
                                           all.end(), [](char c) { return c != ' '; }));
  }

  // Broadcasting gives the largest rank.
  void broadcast(const Node& node) {
    const SsaValue* like = nullptr;  // all have its rank, or are scalars
    std::optional<int64_t> largest;
    bool all_known = true, all_like = true;
    for (const SsaValue* input : node.inputs()) {
      if (!input->type()->is(TypeKind::kTensor)) {
        // A list, or a tensor or None.
        if (is_mutable(*input->type())) return;
        continue;
      }
      const auto known = rank(input);
      all_known &= known.has_value();
      if (known) largest = std::max(largest.value_or(0), *known);
      if (known == 0 && like) continue;
      if (!like || rank(like) == 0) {
        like = input;
      } else {
        all_like &= root(like) == root(input);
      }
    }
    if (!like) return;
    if (all_like) return same_rank(node.output(), like);
    if (all_known) set_rank(node.output(), *largest);
  }

  void branch(Node& node) {
    const std::vector<Fact> facts = facts_of(node.input(0), true);
    scoped(*node.block(0), facts, true);
    scoped(*node.block(1), facts, false);
    for (size_t i = 0; i < 2; ++i) {
      if (!always_raises(*node.block(i))) continue;
      // Whoever comes here took the other branch.
      for (const Fact& fact : facts) {
        if (fact.equal == (i == 1)) set_rank(fact.value, fact.rank);
      }
    }
  }

  // What the condition says: "dim(x) == 4", "dim(x) != 4", and their negations.
  std::vector<Fact> facts_of(const SsaValue* condition, bool positive) {
    for (; condition->node()->kind() == kNot; condition = condition->node()->input(0)) {
      positive = !positive;
    }
    const Node& node = *condition->node();
    if (node.kind() != kEq && node.kind() != kNe) return {};
    const Node& dim = *node.input(0)->node();
    const Value* number = constant_of(node.input(1));
    if (dim.kind() != kDim || !number || !number->is_int()) return {};
    return {{dim.input(0), number->to_int(), (node.kind() == kEq) == positive}};
  }

  static bool has_rank_of_first(const Node& node) {
    if (!node.op() || node.inputs().empty() || !node.input(0)->type()->is(TypeKind::kTensor)) {
      return false;
    }
    const Facts& facts = *node.op()->facts;
    if (facts.rank == RankRule::kFirst) return true;
    return facts.rank == RankRule::kLargest &&
           std::ranges::none_of(node.inputs().begin() + 1, node.inputs().end(),
                                [](const auto* other) { return is_mutable(*other->type()); });
  }

  // The dim of a convolution's result is that of its input: asking there leaves the result to the
  // one that computes with it.
  void ask_earlier(Node& dim) {
    if (!folds_) return;
    SsaValue* value = dim.input(0);
    while (has_rank_of_first(*value->node())) {
      value = value->node()->input(0);
    }
    if (value == dim.input(0) || !value->type()->is(TypeKind::kTensor)) return;
    dim.replace_input(0, value);
    changed_ = true;
  }

  // The node gives the rank of `tensor`.
  void replace(Node& node, const SsaValue& tensor) {
    const auto known = rank(&tensor);
    if (!folds_ || !known || node.output()->users().empty()) return;
    node.output()->replace_all_uses_with(insert_constant(&node, Value(*known), types::integer()));
    parent_.resize(graph_.num_values(), nullptr);
    changed_ = true;
  }

  inline static const Symbol kDim{"aten::dim"}, kEq{"aten::eq"}, kNe{"aten::ne"},
      kNot{"aten::__not__"}, kFlatten{"aten::flatten"}, kLen{"aten::len"}, kSize{"aten::size"};

  Graph& graph_;
  const bool folds_;
  std::vector<const SsaValue*> parent_;
  std::unordered_map<const SsaValue*, int64_t> ranks_;  // of roots
  std::vector<const SsaValue*> set_here_;
  bool changed_ = false;
};

}  // namespace

bool fold_ranks(Graph& graph) { return Ranks(graph, true).run(); }

std::unordered_map<const SsaValue*, int64_t> known_ranks(Graph& graph) {
  Ranks ranks(graph, false);
  ranks.run();
  return ranks.known();
}

}  // namespace torchlet::passes
