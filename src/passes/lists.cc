#include "passes/lists.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "tensor/containers.h"

namespace torchlet::passes {
namespace {

const Symbol kAppend("aten::append"), kInsert("aten::insert"), kSetItem("aten::_set_item"),
    kPop("aten::pop"), kReverse("aten::reverse"), kList("aten::list"), kMul("aten::mul");

constexpr size_t kMostItems = 64;  // of a list that is made of another one

using Order = std::unordered_map<const Node*, size_t>;

// The node of `block` that `user` is or lies in.
Node* own_node(Node* user, const Block* block) {
  while (user->owner() != block) user = user->owner()->owner();
  return user;
}

// Reads the items and keeps nothing of the list itself, so that another list of them would do.
bool reads_items(const Node& user) {
  return user.op() && !writes_inputs(user) && !user.outputs().empty() &&
         std::ranges::all_of(user.outputs(), [&](const SsaValue* output) {
           switch (output->type()->kind()) {
             case TypeKind::kTensor:
             case TypeKind::kInt:
             case TypeKind::kFloat:
             case TypeKind::kBool:
             case TypeKind::kString:
               return true;
             default:
               return output->type()->is(TypeKind::kList) && !returns_alias(user);
           }
         });
}

// What happens to a list until it is changed for the last time.
struct Use {
  Node* user;
  size_t order;
  bool is_write;  // else it reads
};

// Changes the list alone, at a place that is known.
bool is_write(const Node& user, const SsaValue* list) {
  static const Symbol kWrites[] = {kAppend, kInsert, kSetItem, kPop, kReverse};
  const Symbol kind = user.kind();
  const bool has_place = kind == kInsert || kind == kSetItem || kind == kPop;
  return std::ranges::find(kWrites, kind) != std::end(kWrites) &&
         user.owner() == list->node()->owner() && user.input(0) == list &&
         std::ranges::count(user.inputs(), list) == 1 &&
         (!has_place || user.inputs().size() == 1 || constant_of(user.input(1))) &&
         (kind == kPop || user.outputs().empty() || user.output()->users().empty());
}

// Does the write to the items; false if it would raise. `popped`: what it takes out.
bool apply(const Node& write, std::vector<SsaValue*>& items, SsaValue*& popped) {
  const Symbol kind = write.kind();
  if (kind == kAppend) {
    items.push_back(write.input(1));
    return true;
  }
  if (kind == kReverse) {
    std::ranges::reverse(items);
    return true;
  }
  const auto size = static_cast<int64_t>(items.size());
  const int64_t given = write.inputs().size() > 1 ? constant_of(write.input(1))->to_int() : -1;
  const int64_t place = given < 0 ? given + size : given;
  if (kind == kInsert) {
    items.insert(items.begin() + std::clamp<int64_t>(place, 0, size), write.input(2));
    return true;
  }
  if (place < 0 || place >= size) return false;
  if (kind == kSetItem) {
    items[static_cast<size_t>(place)] = write.input(2);
  } else {
    popped = items[static_cast<size_t>(place)];
    items.erase(items.begin() + place);
  }
  return true;
}

// In order; nothing if that is more than writing in the block itself and reading. `count`: how many
// items there are at first.
std::vector<Use> uses_of(const SsaValue* list, size_t count, const Order& order) {
  Block* block = list->node()->owner();
  std::vector<Use> uses;
  size_t last = 0;
  for (Node* user : list->users()) {
    const auto at = order.find(own_node(user, block));
    const size_t when = at == order.end() ? order.size() : at->second;  // a return is the end
    uses.push_back({user, when, is_write(*user, list)});
    if (uses.back().is_write) last = std::max(last, when);
  }
  std::erase_if(uses, [&](const Use& use) { return use.order > last; });
  std::ranges::sort(uses, {}, &Use::order);
  std::vector<SsaValue*> items(count);
  SsaValue* popped = nullptr;
  const bool understood = std::ranges::all_of(uses, [&](const Use& use) {
    return use.is_write ? apply(*use.user, items, popped) : reads_items(*use.user);
  });
  return understood ? uses : std::vector<Use>();
}

// Who reads before the last write gets a list of what there is by then.
void merge(Node& list, std::vector<SsaValue*> items, const std::vector<Use>& uses, Order& order) {
  const auto make = [&](const Use& before) {
    Node* made = list.graph()->create(prim::kListConstruct, items);
    made->set_range(list.range());
    made->set_inlined_call(list.inlined_call());
    made->insert_before(own_node(before.user, list.owner()));
    order[made] = before.order;
    return made->add_output(list.output()->type(), list.output()->name());
  };
  SsaValue* current = nullptr;
  for (const Use& use : uses) {
    if (use.is_write) {
      SsaValue* popped = nullptr;
      apply(*use.user, items, popped);
      if (popped) use.user->output()->replace_all_uses_with(popped);
      current = nullptr;
      continue;
    }
    if (!current) current = make(use);
    for (size_t i = 0; i < use.user->inputs().size(); ++i) {
      if (use.user->input(i) == list.output()) use.user->replace_input(i, current);
    }
  }
  current = make(uses.back());
  for (const Use& use : uses) {
    if (use.is_write) use.user->destroy();
  }
  list.output()->replace_all_uses_with(current);
  list.destroy();
}

// What a list holds at first: the items of another list, so many times.
struct Begin {
  const Node* made = nullptr;    // the other list, or itself
  const Value* known = nullptr;  // if that is null: the other one
  size_t times = 1;

  size_t count() const {
    return times * (made ? made->inputs().size() : known->list_ref().items.size());
  }
  std::vector<SsaValue*> items(Node& list) const {
    std::vector<SsaValue*> all;
    for (size_t i = 0; i < times; ++i) {
      if (made) {
        all.insert(all.end(), made->inputs().begin(), made->inputs().end());
        continue;
      }
      for (const Value& item : known->list_ref().items) {
        all.push_back(insert_constant(&list, item, list.output()->type()->element(0)));
      }
    }
    return all;
  }
};

std::optional<Begin> begin_of(const Node& list) {
  if (list.outputs().size() != 1 || !list.output()->type()->is(TypeKind::kList))
    return std::nullopt;
  if (list.kind() == prim::kListConstruct) return Begin{&list};
  if (list.kind() != kList && list.kind() != kMul) return std::nullopt;
  Begin begin;
  if (list.kind() == kMul) {
    const Value* times = constant_of(list.input(1));
    if (!times || !times->is_int() || times->to_int() > static_cast<int64_t>(kMostItems)) {
      return std::nullopt;
    }
    begin.times = static_cast<size_t>(std::max<int64_t>(times->to_int(), 0));
  }
  const SsaValue* other = list.input(0);
  if (const Value* known = constant_of(other)) {
    if (!known->is_list() || !std::ranges::all_of(known->list_ref().items, is_immutable)) {
      return std::nullopt;
    }
    begin.known = known;
  } else if (other->node()->kind() == prim::kListConstruct && other->users().size() == 1) {
    begin.made = other->node();
  } else {
    return std::nullopt;
  }
  return begin.count() <= kMostItems ? std::optional(begin) : std::nullopt;
}

bool merge(Block& block) {
  bool changed = false;
  Order order;
  std::vector<std::pair<Node*, Begin>> lists;
  for (Node* node : block) {
    order.emplace(node, order.size());
    for (Block* inner : node->blocks()) changed = merge(*inner) || changed;
    if (const auto begin = begin_of(*node)) lists.emplace_back(node, *begin);
  }
  for (const auto& [list, begin] : lists) {
    const std::vector<Use> uses = uses_of(list->output(), begin.count(), order);
    if (uses.empty()) continue;
    merge(*list, begin.items(*list), uses, order);
    changed = true;
  }
  return changed;
}

}  // namespace

bool merge_writes(Graph& graph) { return merge(*graph.block()); }

}  // namespace torchlet::passes
