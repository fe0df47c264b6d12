#include "passes/functionalise.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "graph/prim_kinds.h"
#include "ops/core/derived.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"

namespace torchlet::passes {
namespace {

const Symbol kSqueeze("aten::squeeze"), kUnsqueeze("aten::unsqueeze");
const Symbol kSlice("aten::slice"), kNarrow("aten::narrow");
const Symbol kAsStrided("aten::as_strided"), kStride("aten::stride");

class Functionaliser {
 public:
  Functionaliser(Graph& graph, const AliasAnalysis& aliases, bool for_file)
      : graph_(graph), aliases_(aliases), for_file_(for_file) {}

  bool run() {
    index(*graph_.block());
    for_each_node(*graph_.block(), [&](Node& node) {
      if (!node.op() || !node.op()->facts->is_pointwise || node.op()->facts->may_alias) return;
      const Operator* twin = twin_of(*node.op());
      if (twin && may_replace(node)) replace(node, *twin);
    });
    return changed_;
  }

 private:
  const Operator* twin_of(const Operator& inplace) const {
    const Operator* twin = ops::functional_twin(inplace);
    if (!twin || !for_file_) return twin;
    const auto& arguments = inplace.schema.arguments;
    const bool reads_another = std::any_of(arguments.begin() + 1, arguments.end(),
                                           [](const Argument& a) { return is_mutable(*a.type); });
    return reads_another ? nullptr : inplace.base;
  }

  void index(const Block& block) {
    for (const SsaValue* input : block.inputs()) index(input);
    for (const Node* node : block) {
      order_[node] = order_.size();
      reads_strides_ |= node->kind() == kAsStrided || node->kind() == kStride;
      for (const Block* inner : node->blocks()) index(*inner);
      for (const SsaValue* output : node->outputs()) index(output);
    }
    order_[block.return_node()] = order_.size();
  }
  void index(const SsaValue* value) {
    if (!is_mutable(*value->type())) return;
    defined_[value] = order_.size();
    for (const Node* maker : aliases_.makers_within(value)) names_[maker].push_back(value);
  }

  // The value that the analysis knows in place of one that this pass made.
  const SsaValue* original(const SsaValue* value) const {
    const auto found = original_.find(value);
    return found == original_.end() ? value : found->second;
  }

  // Is it all of the memory that its maker made, for each of them, so that a twin's strides are
  // those of self, or a part of it whose strides nobody sees? Of a branch, what each side gives is,
  // where the sides made it or `block` did.
  bool is_whole(const SsaValue* value, const Block* block) const {
    const Node* giver = value->node();
    if (giver->kind() == prim::kIf) {
      return std::ranges::all_of(giver->blocks(), [&](const Block* side) {
        return always_raises(*side) || is_whole(side->outputs()[value->index()], block);
      });
    }
    if (giver->kind() == kSqueeze || giver->kind() == kUnsqueeze) {
      return is_whole(giver->input(0), block);
    }
    if (giver->kind() == kSlice || giver->kind() == kNarrow) {
      return !shows_strides(value) && is_whole(giver->input(0), block);
    }
    if (original_.contains(value)) return is_inside(*giver, block);
    const std::vector<const Node*> makers = aliases_.makers(value);
    return makers.size() == 1 && makers[0] == giver && is_inside(*giver, block);
  }

  // A dense tensor can be viewed in every way in which its parts can.
  bool shows_strides(const SsaValue* value) const {
    const auto is_returned = [&](const SsaValue* name) {
      return std::ranges::any_of(
          name->users(), [&](const Node* user) { return user == graph_.block()->return_node(); });
    };
    return reads_strides_ ||
           std::ranges::any_of(aliases_.makers(original(value)), [&](const Node* maker) {
             const auto names = names_.find(maker);
             return names != names_.end() && std::ranges::any_of(names->second, is_returned);
           });
  }

  static bool is_inside(const Node& node, const Block* block) {
    const Block* at = node.owner();
    while (at != block && at->owner()) at = at->owner()->owner();
    return at == block;
  }

  bool may_replace(const Node& node) {
    const SsaValue* self = node.input(0);
    if (self->node()->owner() != node.owner() || aliases_.is_kept(original(self)) ||
        !is_whole(self, node.owner())) {
      return false;
    }
    const size_t here = order_.at(&node);
    return std::ranges::none_of(aliases_.makers(original(self)), [&](const Node* maker) {
      return std::ranges::any_of(names_[maker], [&](const SsaValue* name) {
        return name != self && defined_.at(name) <= here && is_used_after(name, here);
      });
    });
  }

  bool is_used_after(const SsaValue* value, size_t here) const {
    return std::ranges::any_of(value->users(),
                               [&](const Node* user) { return order_.at(user) > here; });
  }

  void replace(Node& node, const Operator& twin) {
    const size_t here = order_.at(&node);
    Node* made = graph_.create(twin.name, node.inputs());
    made->set_op(&twin);
    made->set_range(node.range());
    made->set_inlined_call(node.inlined_call());
    made->insert_before(&node);
    order_[made] = here;
    SsaValue* self = node.input(0);
    SsaValue* result = made->add_output(node.output()->type(), node.output()->name());
    original_[result] = node.output();
    defined_[result] = here;
    const std::vector<Node*> users = self->users();
    for (Node* user : users) {
      if (order_.at(user) <= here) continue;
      for (size_t i = 0; i < user->inputs().size(); ++i) {
        if (user->input(i) == self) user->replace_input(i, result);
      }
    }
    node.output()->replace_all_uses_with(result);
    rename(node.output(), result);
    node.destroy();
    changed_ = true;
  }

  // The result is new memory, but views of the output that were there are views of it now, and
  // makers of these are still those of the output.
  void rename(const SsaValue* output, const SsaValue* result) {
    for (const Node* maker : aliases_.makers_within(output)) {
      std::ranges::replace(names_[maker], output, result);
    }
  }

  Graph& graph_;
  const AliasAnalysis& aliases_;
  const bool for_file_;
  std::unordered_map<const Node*, size_t> order_;        // pre-order; a return is last
  std::unordered_map<const SsaValue*, size_t> defined_;  // how many nodes came before
  std::unordered_map<const Node*, std::vector<const SsaValue*>> names_;  // by maker
  std::unordered_map<const SsaValue*, const SsaValue*> original_;
  bool reads_strides_ = false;
  bool changed_ = false;
};

}  // namespace

bool functionalise(Graph& graph, const AliasAnalysis& aliases, bool for_file) {
  return Functionaliser(graph, aliases, for_file).run();
}

}  // namespace torchlet::passes
