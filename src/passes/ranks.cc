#include "passes/ranks.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/prim_kinds.h"
#include "passes/constants.h"
#include "passes/effects.h"
#include "tensor/containers.h"

namespace torchlet::passes {
namespace {

// A program may write any number; no tensor has so many dimensions.
constexpr int64_t kMostRank = int64_t{1} << 20;

// The result has as many dimensions as the first argument.
bool keeps_rank(const Node& node) {
  static const std::unordered_set<std::string_view> names = {"aten::conv1d",
                                                             "aten::conv2d",
                                                             "aten::conv3d",
                                                             "aten::_convolution",
                                                             "aten::convolution",
                                                             "aten::conv_transpose1d",
                                                             "aten::conv_transpose2d",
                                                             "aten::conv_transpose3d",
                                                             "aten::batch_norm",
                                                             "aten::instance_norm",
                                                             "aten::group_norm",
                                                             "aten::layer_norm",
                                                             "aten::linear",
                                                             "aten::relu",
                                                             "aten::relu6",
                                                             "aten::hardtanh",
                                                             "aten::sigmoid",
                                                             "aten::tanh",
                                                             "aten::silu",
                                                             "aten::hardswish",
                                                             "aten::hardsigmoid",
                                                             "aten::gelu",
                                                             "aten::elu",
                                                             "aten::leaky_relu",
                                                             "aten::mish",
                                                             "aten::softmax",
                                                             "aten::log_softmax",
                                                             "aten::softplus",
                                                             "aten::clamp",
                                                             "aten::clamp_min",
                                                             "aten::clamp_max",
                                                             "aten::exp",
                                                             "aten::sqrt",
                                                             "aten::abs",
                                                             "aten::neg",
                                                             "aten::dropout",
                                                             "aten::feature_dropout",
                                                             "aten::max_pool1d",
                                                             "aten::max_pool2d",
                                                             "aten::max_pool3d",
                                                             "aten::avg_pool1d",
                                                             "aten::avg_pool2d",
                                                             "aten::avg_pool3d",
                                                             "aten::adaptive_avg_pool1d",
                                                             "aten::adaptive_avg_pool2d",
                                                             "aten::adaptive_avg_pool3d",
                                                             "aten::adaptive_max_pool2d",
                                                             "aten::upsample_nearest2d",
                                                             "aten::upsample_bilinear2d",
                                                             "aten::upsample_bicubic2d",
                                                             "aten::__interpolate",
                                                             "aten::pad",
                                                             "aten::constant_pad_nd",
                                                             "aten::reflection_pad2d",
                                                             "aten::replication_pad2d",
                                                             "aten::transpose",
                                                             "aten::contiguous",
                                                             "aten::clone",
                                                             "aten::detach",
                                                             "aten::to",
                                                             "aten::type_as",
                                                             "aten::quantize_per_tensor",
                                                             "aten::dequantize",
                                                             "aten::channel_shuffle",
                                                             "aten::pixel_shuffle",
                                                             "aten::roll",
                                                             "aten::flip",
                                                             "aten::cumsum",
                                                             "aten::slice",
                                                             "aten::_native_multi_head_attention",
                                                             "aten::narrow",
                                                             "aten::permute",
                                                             "aten::square",
                                                             "aten::prelu"};
  return names.contains(functional_name(node));
}

bool is_arithmetic(const Node& node) {
  static const std::unordered_set<std::string_view> names = {"aten::add", "aten::sub", "aten::mul",
                                                             "aten::div"};
  return names.contains(functional_name(node));
}

// Changes the number of dimensions of a tensor that other values name.
bool changes_rank_in_place(const Node& node) {
  const std::string_view name = node.kind().name();
  for (const std::string_view other :
       {"unsqueeze_", "squeeze_", "resize_", "resize_as_", "set_", "set_data", "as_strided_"}) {
    if (name == other) return true;
  }
  return false;
}

class Ranks {
 public:
  explicit Ranks(Graph& graph) : graph_(graph), parent_(graph.num_values(), nullptr) {}

  bool run() {
    bool unsafe = false;
    for_each_node(*graph_.block(), [&](Node& node) {
      unsafe = unsafe || changes_rank_in_place(node) || node.kind() == prim::kCallFunction ||
               node.kind() == prim::kCallMethod;
    });
    if (!unsafe) block(*graph_.block());
    return changed_;
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
    if (keeps_rank(node)) {
      if (node.kind() != kLinear || rank(node.input(1)) == 2) same_rank(output, node.input(0));
    } else if (is_arithmetic(node)) {
      arithmetic(node);
    } else if (node.kind() == kCat) {
      join(node);
    } else if (node.kind() == kView || node.kind() == kReshape || node.kind() == kExpand) {
      const auto& sizes = *node.input(1)->node();
      if (sizes.kind() == prim::kListConstruct) {
        set_rank(output, static_cast<int64_t>(sizes.inputs().size()));
      } else if (const Value* known = constant_of(node.input(1)); known && known->is_list()) {
        set_rank(output, static_cast<int64_t>(known->list_ref().items.size()));
      }
    } else if (node.kind() == kFlatten) {
      const Value *start = constant_of(node.input(1)), *end = constant_of(node.input(2));
      const bool to_end = start && start->is_int() && end && end->is_int() && end->to_int() == -1;
      if (to_end && start->to_int() >= 0 && start->to_int() < kMostRank) {
        set_rank(output, start->to_int() + 1);
      }
    } else if (node.kind() == kUnsqueeze) {
      if (const auto known = rank(node.input(0))) set_rank(output, *known + 1);
    }
  }

  // Concatenated tensors have one rank, but that empty vectors do not count.
  void join(const Node& node) {
    const Node& list = *node.input(0)->node();
    if (list.kind() != prim::kListConstruct) return;
    for (const SsaValue* item : list.inputs()) {
      const auto known = rank(item);
      if (known && *known != 1) return set_rank(node.output(), *known);
    }
  }

  // Broadcasting gives the larger of the two ranks.
  void arithmetic(const Node& node) {
    const SsaValue *a = node.input(0), *b = node.input(1);
    if (!b->type()->is(TypeKind::kTensor) || root(a) == root(b)) {
      return same_rank(node.output(), a);
    }
    const auto rank_a = rank(a), rank_b = rank(b);
    if (rank_b == 0) {
      same_rank(node.output(), a);
    } else if (rank_a && rank_b) {
      set_rank(node.output(), std::max(*rank_a, *rank_b));
    }
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

  // The dim of a convolution's result is that of its input: asking there leaves the result to the
  // one that computes with it.
  void ask_earlier(Node& dim) {
    SsaValue* value = dim.input(0);
    while (value->node()->op() && keeps_rank(*value->node()) && value->node()->kind() != kLinear) {
      value = value->node()->input(0);
    }
    if (value == dim.input(0) || !value->type()->is(TypeKind::kTensor)) return;
    dim.replace_input(0, value);
    changed_ = true;
  }

  // The node gives the rank of `tensor`.
  void replace(Node& node, const SsaValue& tensor) {
    const auto known = rank(&tensor);
    if (!known || node.output()->users().empty()) return;
    node.output()->replace_all_uses_with(insert_constant(&node, Value(*known), types::integer()));
    parent_.resize(graph_.num_values(), nullptr);
    changed_ = true;
  }

  inline static const Symbol kDim{"aten::dim"}, kEq{"aten::eq"}, kNe{"aten::ne"},
      kNot{"aten::__not__"}, kView{"aten::view"}, kReshape{"aten::reshape"},
      kUnsqueeze{"aten::unsqueeze"}, kFlatten{"aten::flatten"}, kLen{"aten::len"},
      kCat{"aten::cat"}, kExpand{"aten::expand"}, kSize{"aten::size"}, kLinear{"aten::linear"};

  Graph& graph_;
  std::vector<const SsaValue*> parent_;
  std::unordered_map<const SsaValue*, int64_t> ranks_;  // of roots
  std::vector<const SsaValue*> set_here_;
  bool changed_ = false;
};

}  // namespace

bool fold_ranks(Graph& graph) { return Ranks(graph).run(); }

}  // namespace torchlet::passes
