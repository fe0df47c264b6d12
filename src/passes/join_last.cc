#include "passes/join_last.h"

#include <algorithm>
#include <span>

#include "passes/analysis/constants.h"
#include "passes/analysis/rewrite.h"
#include "passes/analysis/scalable_layer.h"

namespace torchlet::passes {
namespace {

// Of one tensor and constants.
bool is_function_of_one(const Node& node) {
  if (!node.op() || !node.op()->facts->is_pointwise || node.op()->facts->may_alias ||
      node.outputs().size() != 1 || node.op()->schema.arguments[0].is_written ||
      !node.input(0)->type()->is(TypeKind::kTensor)) {
    return false;
  }
  const auto rest = std::span(node.inputs()).subspan(1);
  return std::ranges::all_of(rest, [](const SsaValue* input) {
    const Value* constant = constant_of(input);
    return constant && is_immutable(*constant);
  });
}

bool swap(Node& function, ChangeLog* log) {
  const JoinedLayers joined = sole_joined_layers(function.input(0), function);
  if (joined.layers.size() < 2) return false;
  for (size_t i = 0; i < joined.layers.size(); ++i) {
    std::vector<SsaValue*> inputs = {joined.list->input(i)};
    for (size_t j = 1; j < function.inputs().size(); ++j) {
      const SsaValue* constant = function.input(j);
      inputs.push_back(insert_constant(joined.list, *constant_of(constant), constant->type()));
    }
    Node* part = insert_call(joined.list, *function.op(), inputs);
    part->set_range(function.range());
    part->set_inlined_call(function.inlined_call());
    joined.list->replace_input(i, part->output());
  }
  if (log) log->note(place_of(function) + " goes before what joins its input");
  function.output()->replace_all_uses_with(function.input(0));
  function.destroy();
  return true;
}

}  // namespace

bool join_last(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (is_function_of_one(node)) changed = swap(node, log) || changed;
  });
  return changed;
}

}  // namespace torchlet::passes
