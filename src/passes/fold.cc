#include "passes/fold.h"

#include <torchlet/error.h>

#include <algorithm>
#include <string_view>

#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"

namespace torchlet::passes {
namespace {

// Can a value of the type be None?
bool may_be_none(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kTensor:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kBool:
    case TypeKind::kString:
    case TypeKind::kList:
    case TypeKind::kDict:
    case TypeKind::kTuple:
    case TypeKind::kClass:
      return false;
    default:
      return true;
  }
}

class Folder {
 public:
  Folder(Graph& graph, const AliasAnalysis* aliases, FoldBudget& budget, bool keep_casts)
      : graph_(graph), aliases_(aliases), budget_(budget), keep_casts_(keep_casts) {}

  bool run() {
    block(*graph_.block());
    return changed_;
  }

 private:
  void block(Block& block) {
    for (Node* node = block.first(); node;) {
      Node* next = node->next();
      if (node->kind() == prim::kIf && constant_of(node->input(0))) {
        if (Node* first = take_branch(*node)) next = first;
      } else {
        for (Block* inner : node->blocks()) this->block(*inner);
        fold(*node);
      }
      node = next;
    }
  }

  // The first node of the branch that is always taken, which now stands in place of the If.
  Node* take_branch(Node& node) {
    const Value& condition = *constant_of(node.input(0));
    if (!condition.is_bool()) return nullptr;
    Block& taken = *node.block(condition.to_bool() ? 0 : 1);
    Node* first = taken.first();
    while (taken.first()) taken.first()->move_before(&node);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      node.output(i)->replace_all_uses_with(taken.outputs()[i]);
    }
    Node* next = first ? first : node.next();
    node.destroy();
    changed_ = true;
    return next;
  }

  // A loop whose body never runs.
  bool skip(Node& node) {
    const Value *most = constant_of(node.input(0)), *begins = constant_of(node.input(1));
    if (!(most && most->is_int() && most->to_int() <= 0) &&
        !(begins && begins->is_bool() && !begins->to_bool())) {
      return false;
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      node.output(i)->replace_all_uses_with(node.input(i + 2));
    }
    node.destroy();
    return changed_ = true;
  }

  // What the other branch gives, if one always raises, is known without the branch.
  void forward_past_raise(Node& node) {
    for (size_t b = 0; b < 2; ++b) {
      if (!always_raises(*node.block(b))) continue;
      const Block& other = *node.block(1 - b);
      for (size_t i = 0; i < node.outputs().size(); ++i) {
        SsaValue* given = other.outputs()[i];
        if (given->node()->owner() != &other) forward(*node.output(i), given);
      }
    }
  }

  // What both branches give is known without them.
  void forward_agreement(Node& node) {
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      SsaValue *a = node.block(0)->outputs()[i], *b = node.block(1)->outputs()[i];
      const Value *x = constant_of(a), *y = constant_of(b);
      if (node.output(i)->users().empty()) continue;
      if (a == b) {
        forward(*node.output(i), a);  // from outside: no value is seen in both
      } else if (x && y && x->is_same(*y) && is_immutable(*x)) {
        replace(*node.output(i), *x);
      }
    }
  }

  void fold(Node& node) {
    if (node.kind() == prim::kIf) {
      forward_past_raise(node);
      forward_agreement(node);
    }
    if (node.kind() == prim::kLoop && skip(node)) return;
    if (node.outputs().empty() || node.kind() == prim::kConstant || !node.blocks().empty()) return;
    if (forward(node)) {
      // It would have given these values, so it did not raise.
      const auto is_unused = [](const SsaValue* output) { return output->users().empty(); };
      if (std::ranges::all_of(node.outputs(), is_unused)) node.destroy();
      return;
    }
    if (compare_with_none(node)) return;
    if (!is_pure(node)) return;
    std::vector<Value> inputs;
    for (const SsaValue* input : node.inputs()) {
      const Value* constant = constant_of(input);
      if (!constant || !(aliases_ || is_immutable(*constant))) return;
      inputs.push_back(*constant);
    }
    std::vector<Value> results(node.outputs().size());
    if (evaluate(node, inputs, budget_, results) && may_keep(node, inputs, results)) {
      for (size_t i = 0; i < results.size(); ++i) replace(*node.output(i), results[i]);
      node.destroy();
    }
  }

  bool may_keep(const Node& node, const std::vector<Value>& inputs,
                const std::vector<Value>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (is_immutable(results[i])) continue;
      if (results[i].is_object() || results[i].is_future() || !aliases_) return false;
      const SsaValue* output = node.output(i);
      if (aliases_->is_written(output) || aliases_->escapes(output)) return false;
    }
    return may_grow(inputs, results, budget_);
  }

  void replace(SsaValue& output, const Value& value) {
    replace_by_constant(output, value);
    changed_ = true;
  }

  bool forward(SsaValue& output, SsaValue* value) {
    if (output.users().empty()) return false;
    output.replace_all_uses_with(value);
    return changed_ = true;
  }

  // A list, or a dict without items, as it was made: nobody adds to it or takes from it.
  const Node* unchanged_list(const SsaValue* list) const {
    const Node* made = list->node();
    const bool is_made = made->kind() == prim::kListConstruct ||
                         (made->kind() == prim::kDictConstruct && made->inputs().empty());
    return is_made && aliases_ && !aliases_->is_content_written(list) ? made : nullptr;
  }

  // What went into a tuple or a list and comes out again.
  bool forward(Node& node) {
    if (node.kind() == prim::kUncheckedCast) {
      const bool is_needed =
          keep_casts_ && !is_subtype(node.input(0)->type(), node.output()->type());
      return !is_needed && forward(*node.output(), node.input(0));
    }
    const Node* from = node.inputs().empty() ? nullptr : node.input(0)->node();
    if (!from) return false;
    const bool is_tuple = from->kind() == prim::kTupleConstruct;
    if (node.kind() == prim::kTupleUnpack || node.kind() == prim::kListUnpack) {
      if (!is_tuple && !unchanged_list(node.input(0))) return false;
      if (from->inputs().size() != node.outputs().size()) return false;
      bool any = false;
      for (size_t i = 0; i < node.outputs().size(); ++i) {
        any = forward(*node.output(i), from->input(i)) || any;
      }
      return any;
    }
    const bool takes_item = (node.kind() == prim::kTupleIndex && is_tuple) ||
                            (node.kind() == kGetItem && unchanged_list(node.input(0)));
    if (takes_item) {
      const Value* index = constant_of(node.input(1));
      if (!index || !index->is_int()) return false;
      const auto size = static_cast<int64_t>(from->inputs().size());
      const int64_t at = index->to_int() < 0 ? index->to_int() + size : index->to_int();
      if (at < 0 || at >= size) return false;
      forward(*node.output(), from->input(static_cast<size_t>(at)));
      return changed_ = true;
    }
    if (node.kind() == kLen && unchanged_list(node.input(0))) {
      replace(*node.output(), Value(static_cast<int64_t>(from->inputs().size())));
      return true;
    }
    return false;
  }

  bool compare_with_none(Node& node) {
    if (node.kind() != kIs && node.kind() != kIsNot) return false;
    if (node.input(0) == node.input(1)) {
      replace(*node.output(), Value(node.kind() == kIs));
      return true;
    }
    for (size_t i = 0; i < 2; ++i) {
      const Type& type = *node.input(i)->type();
      const Type& other = *node.input(1 - i)->type();
      if (!other.is(TypeKind::kNone)) continue;
      const bool is_none = type.is(TypeKind::kNone);
      if (!is_none && may_be_none(type)) return false;
      if (node.output()->users().empty()) return false;
      replace(*node.output(), Value(is_none == (node.kind() == kIs)));
      return true;
    }
    return false;
  }

  inline static const Symbol kGetItem{"aten::__getitem__"}, kLen{"aten::len"}, kIs{"aten::__is__"},
      kIsNot{"aten::__isnot__"};

  Graph& graph_;
  const AliasAnalysis* aliases_;
  FoldBudget& budget_;
  const bool keep_casts_;
  bool changed_ = false;
};

}  // namespace

bool fold_constants(Graph& graph, const AliasAnalysis* aliases, FoldBudget& budget,
                    bool keep_casts) {
  return Folder(graph, aliases, budget, keep_casts).run();
}

}  // namespace torchlet::passes
