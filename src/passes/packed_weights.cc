#include "passes/packed_weights.h"

#include <torchlet/error.h>

#include <algorithm>

#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"

namespace torchlet::passes {
namespace {

bool gives_custom_object(const Node& node) {
  return node.op() && node.outputs().size() == 1 && node.output()->type()->is(TypeKind::kClass) &&
         find_custom_class(node.output()->type()->name());
}

bool pack(Node& node, ChangeLog* log) {
  if (!gives_custom_object(node) || !is_pure(node)) return false;
  std::vector<Value> arguments;
  for (const SsaValue* input : node.inputs()) {
    const Value* known = constant_of(input);
    if (!known) return false;
    arguments.push_back(*known);
  }
  Value made;
  try {
    node.op()->call(arguments, {&made, 1});
  } catch (const Error&) {
    return false;  // it is an error of the run, if one gets there
  }
  if (log) log->note(node.kind().str() + " of " + place_of(node));
  node.output()->replace_all_uses_with(insert_constant(&node, made, node.output()->type()));
  node.destroy();
  return true;
}

}  // namespace

bool pack_weights(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) { changed = pack(node, log) || changed; });
  return changed;
}

}  // namespace torchlet::passes
