#include "passes/identities.h"

#include <algorithm>
#include <string_view>

#include "passes/constants.h"
#include "passes/effects.h"

namespace torchlet::passes {
namespace {

const Symbol kDetach("aten::detach"), kRequiresGrad("prim::requires_grad");

// (input, p, train)
bool is_dropout_in_eval(const Node& node) {
  std::string_view name = node.kind().str();
  if (name.ends_with('_')) name.remove_suffix(1);
  if (name != "aten::dropout" && name != "aten::feature_dropout" && name != "aten::alpha_dropout" &&
      name != "aten::feature_alpha_dropout") {
    return false;
  }
  const Value *p = constant_of(node.input(1)), *train = constant_of(node.input(2));
  return p && p->is_float() && p->to_double() >= 0 && p->to_double() <= 1 && train &&
         train->is_bool() && !train->to_bool();
}

// Do all users make something new of it?
bool is_only_read(const SsaValue* value) {
  return std::ranges::all_of(value->users(), [](const Node* user) {
    return user->op() && !returns_alias(*user) && !writes_inputs(*user);
  });
}

}  // namespace

bool remove_identities(Graph& graph) {
  bool asks_for_grad = false;
  for_each_node(*graph.block(),
                [&](Node& node) { asks_for_grad = asks_for_grad || node.kind() == kRequiresGrad; });
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (!node.op() || node.outputs().size() != 1) return;
    const bool is_detach = node.kind() == kDetach && !asks_for_grad && is_only_read(node.output());
    if (!is_detach && !is_dropout_in_eval(node)) return;
    node.output()->replace_all_uses_with(node.input(0));
    node.destroy();
    changed = true;
  });
  return changed;
}

}  // namespace torchlet::passes
