#include "passes/identities.h"

#include <algorithm>

#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"

namespace torchlet::passes {
namespace {

const Symbol kDetach("aten::detach"), kRequiresGrad("prim::requires_grad");

// Dropout checks its probability before it does nothing; with 0 it draws nothing either.
bool is_identity(const Node& node) {
  const char* unless = node.op()->facts->identity_unless;
  if (!unless) return false;
  const Value *p = constant_argument(node, "p"), *active = constant_argument(node, unless);
  if (!p || !p->is_float() || !(p->to_double() >= 0 && p->to_double() <= 1)) return false;
  return p->to_double() == 0 || (active && active->is_bool() && !active->to_bool());
}

// Do all users make something new of it?
bool is_only_read(const SsaValue* value) {
  return std::ranges::all_of(value->users(), [](const Node* user) {
    return user->op() && !returns_alias(*user) && !writes_inputs(*user);
  });
}

}  // namespace

bool remove_identities(Graph& graph, ChangeLog* log) {
  bool asks_for_grad = false;
  for_each_node(*graph.block(),
                [&](Node& node) { asks_for_grad = asks_for_grad || node.kind() == kRequiresGrad; });
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (!node.op() || node.outputs().size() != 1) return;
    const bool is_detach = node.kind() == kDetach && !asks_for_grad && is_only_read(node.output());
    if (!is_detach && !is_identity(node)) return;
    if (log) log->note(node.kind().str() + " of " + place_of(node) + " removed");
    node.output()->replace_all_uses_with(node.input(0));
    node.destroy();
    changed = true;
  });
  return changed;
}

}  // namespace torchlet::passes
