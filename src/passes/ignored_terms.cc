#include "passes/ignored_terms.h"

#include <span>

#include "passes/analysis/constants.h"
#include "passes/analysis/rewrite.h"

namespace torchlet::passes {
namespace {

const Symbol kBaddbmm("aten::baddbmm"), kEmpty("aten::empty");

bool ignores_term(const Node& node) {
  if (node.kind() != kBaddbmm) return false;
  const Value* beta = constant_argument(node, "beta");
  return beta && (beta->is_int() || beta->is_float()) && beta->to_double() == 0;
}

}  // namespace

bool fill_ignored_terms(Graph& graph, ChangeLog* log) {
  static const Operator* const zeros = find_operator("aten::zeros", "");
  if (!zeros) return false;  // in a build of some operators
  const size_t arguments = zeros->schema.arguments.size();
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (!ignores_term(node)) return;
    Node* empty = sole_maker(node.input(0), node);
    // Behind the arguments that both have, an empty tensor may be told how to lie.
    if (!empty || empty->kind() != kEmpty || empty->inputs().size() < arguments) return;
    const auto inputs = std::span(empty->inputs()).first(arguments);
    Node* made = insert_call(empty, *zeros, {inputs.begin(), inputs.end()});
    if (log) log->note("an empty tensor that is ignored became zeros in " + place_of(node));
    replace_by(*empty, *made);
    changed = true;
  });
  return changed;
}

}  // namespace torchlet::passes
