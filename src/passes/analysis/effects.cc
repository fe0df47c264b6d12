#include "passes/analysis/effects.h"

#include <algorithm>
#include <string_view>

#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"

namespace torchlet::passes {
namespace {

// Is one of the arguments that are named, separated by spaces, known to be false or 0?
bool is_off(const Node& node, std::string_view names) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const Value* value = constant_argument(node, name);
    if (!value) continue;
    if (value->is_bool() && !value->to_bool()) return true;
    if ((value->is_int() || value->is_float()) && value->to_double() == 0) return true;
  }
  return false;
}

bool is_named(std::string_view names, std::string_view name) {
  for (size_t at = names.find(name); at != std::string_view::npos; at = names.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || names[at - 1] == ' ') && (end == names.size() || names[end] == ' '))
      return true;
  }
  return false;
}

// Though the schema does not say so. What is None is not there to be written.
bool writes_silently(const Node& node, size_t i) {
  const Facts& facts = *node.op()->facts;
  if (!facts.writes || !is_named(facts.writes, node.op()->schema.arguments[i].name)) return false;
  const Value* given = constant_of(node.input(i));
  return !(given && given->is_none()) &&
         !(facts.writes_unless && is_off(node, facts.writes_unless));
}

}  // namespace

bool varies(const Node& node) {
  const char* unless = node.op() ? node.op()->facts->varies_unless : nullptr;
  return unless && !is_off(node, unless);
}

bool writes_input(const Node& node, size_t i) {
  if (!node.op()) return node.kind() == prim::kSetAttr && i == 0;
  const auto& arguments = node.op()->schema.arguments;
  return i < arguments.size() && (arguments[i].is_written || writes_silently(node, i));
}

bool writes_inputs(const Node& node) {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (writes_input(node, i)) return true;
  }
  return false;
}

bool returns_alias(const Node& node) {
  if (!node.op()) {
    for (const Symbol fresh : {prim::kConstant, prim::kUninitialized, prim::kCreateObject,
                               prim::kIsInstance, prim::kToList, prim::kEnumName}) {
      if (node.kind() == fresh) return false;
    }
    return true;
  }
  const Facts& facts = *node.op()->facts;
  if (facts.new_of_several) {
    const auto at = node.op()->schema.find_argument(facts.new_of_several);
    const Node& list = *node.input(*at)->node();
    if (list.kind() == prim::kListConstruct && list.inputs().size() > 1) return false;
  }
  return facts.may_alias || std::ranges::any_of(node.op()->schema.returns, &Argument::is_aliased);
}

bool is_pure(const Node& node) {
  if (!node.blocks().empty()) return false;
  if (!node.op()) {
    for (const Symbol kind :
         {prim::kConstant, prim::kUninitialized, prim::kGetAttr, prim::kListConstruct,
          prim::kTupleConstruct, prim::kDictConstruct, prim::kListUnpack, prim::kTupleUnpack,
          prim::kTupleIndex, prim::kModuleContainerIndex, prim::kIsInstance, prim::kUncheckedCast,
          prim::kToList, prim::kEnumName, prim::kEnumValue}) {
      if (node.kind() == kind) return true;
    }
    return false;
  }
  return !node.op()->schema.returns.empty() && !writes_inputs(node) && !varies(node);
}

namespace {

// "{}, {}".format(...) with enough arguments.
bool has_all_arguments(const Node& format) {
  const Value* pattern = format.inputs().empty() ? nullptr : constant_of(format.input(0));
  if (!pattern || !pattern->is_string()) return false;
  const std::string& text = pattern->to_string();
  size_t holes = 0;
  for (size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) ++holes;
  return holes < format.inputs().size();
}

bool cannot_raise(const Node& node) {
  static const Symbol kFormat("aten::format");
  if (!node.op()) {
    return node.kind() != prim::kListUnpack && node.kind() != prim::kToList &&
           node.kind() != prim::kTupleIndex && node.kind() != prim::kModuleContainerIndex;
  }
  return node.op()->facts->never_raises || (node.kind() == kFormat && has_all_arguments(node));
}

bool block_is_removable(const Block& block) {
  for (const Node* node : block) {
    if (!is_removable(*node)) return false;
  }
  return true;
}

}  // namespace

bool is_removable(const Node& node) {
  if (node.blocks().empty()) return is_pure(node) && cannot_raise(node);
  if (node.kind() == prim::kLoop) {
    // A loop without a condition of its own ends.
    const Value* again = constant_of(node.block(0)->outputs()[0]);
    if (!again || !again->is_bool()) return false;
  } else if (node.kind() != prim::kIf) {
    return false;
  }
  return std::ranges::all_of(node.blocks(), [](const Block* b) { return block_is_removable(*b); });
}

const std::vector<SsaValue*>* lasting_items(const SsaValue* list) {
  const auto is_tensor = [](const SsaValue* value) {
    return value->type()->is(TypeKind::kTensor);  // which holds no list
  };
  const auto only_reads = [&](const Node* user) {
    for (size_t i = 0; i < user->inputs().size(); ++i) {
      if (user->input(i) == list && writes_input(*user, i)) return false;
    }
    return user->op() && (!returns_alias(*user) || std::ranges::all_of(user->outputs(), is_tensor));
  };
  const bool lasts = list->node()->kind() == prim::kListConstruct &&
                     std::ranges::all_of(list->users(), only_reads);
  return lasts ? &list->node()->inputs() : nullptr;
}

namespace {

// So many views of views and so many nodes are looked at.
constexpr size_t kMaxSources = 64, kMaxNodesBetween = 1000;

// Where the memory of a tensor comes from.
struct Sources {
  std::vector<const Node*> makers;  // of new memory
  bool before_run = false;          // the graph's inputs, constants
  bool elsewhere = false;           // not known
};

Sources sources_of(const SsaValue* tensor) {
  Sources sources;
  std::vector<const SsaValue*> open = {tensor};
  for (size_t i = 0; i < open.size() && !sources.elsewhere; ++i) {
    const SsaValue* value = open[i];
    const Node& node = *value->node();
    const auto& given = node.graph()->inputs();
    const bool is_given = value->index() < given.size() && given[value->index()] == value;
    if (!value->type()->is(TypeKind::kTensor) || i == kMaxSources) {
      sources.elsewhere = true;
    } else if (constant_of(value) || is_given) {
      sources.before_run = true;
    } else if (!node.op()) {
      sources.elsewhere = true;
    } else {
      sources.makers.push_back(&node);  // contiguous() gives new memory or that of its input
      if (!returns_alias(node)) continue;
      for (const SsaValue* input : node.inputs()) {
        if (is_mutable(*input->type()) && !constant_of(input)) open.push_back(input);
      }
    }
  }
  return sources;
}

bool may_meet(const Sources& a, const Sources& b) {
  if (a.elsewhere || b.elsewhere || (a.before_run && b.before_run)) return true;
  return std::ranges::any_of(a.makers, [&](const Node* maker) {
    return std::ranges::find(b.makers, maker) != b.makers.end();
  });
}

// Counts the nodes that it looks at down from `left`.
bool may_write(const Node& node, const Sources& target, size_t& left) {
  if (left == 0) return true;
  --left;
  for (const Block* block : node.blocks()) {
    for (const Node* inner : *block) {
      if (may_write(*inner, target, left)) return true;
    }
  }
  if (!node.op()) return node.blocks().empty() && !is_pure(node);
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (writes_input(node, i) && may_meet(sources_of(node.input(i)), target)) return true;
  }
  return false;
}

}  // namespace

bool may_change_between(const SsaValue* tensor, const Node& from, const Node& to) {
  if (from.owner() != to.owner()) return true;
  const Sources sources = sources_of(tensor);
  size_t left = kMaxNodesBetween;
  for (const Node* node = from.next(); node != &to; node = node->next()) {
    if (!node || may_write(*node, sources, left)) return true;
  }
  return false;
}

bool always_raises(const Block& block) {
  for (const Node* node : block) {
    if (node->kind() == prim::kRaiseException) return true;
  }
  return false;
}

}  // namespace torchlet::passes
