#include "passes/add_relu.h"

#include <algorithm>

#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "passes/analysis/rewrite.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

const Symbol kAdd("aten::add"), kRelu("aten::relu");

// A layer with a float32 weight, or a packed one, which has no others.
bool is_from_layer(const SsaValue* value) {
  const Node& node = *value->node();
  if (!node.op()) return false;
  if (node.kind().name_space() == "prepacked") return true;
  if (node.op()->facts->dtype != DTypeRule::kWeight) return false;
  const Value* weight = constant_argument(node, "weight");
  return weight && weight->is_tensor() && weight->tensor_impl()->dtype == DType::kFloat32;
}

bool fuse(Node& relu, ChangeLog* log) {
  Node* add = sole_maker(relu.input(0), relu);
  if (!add || add->kind() != kAdd || !add->op() || add->op()->schema.overload != "Tensor" ||
      !(is_from_layer(add->input(0)) || is_from_layer(add->input(1))) ||
      may_change_between(add->input(0), *add, relu) ||
      may_change_between(add->input(1), *add, relu)) {
    return false;
  }
  if (log) log->note("add and relu of " + place_of(relu));
  replace_by(relu, *insert_call(&relu, *find_operator("aten::_add_relu", "Tensor"), add->inputs()));
  add->destroy();
  return true;
}

}  // namespace

bool fuse_add_relus(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() == kRelu && node.op()) changed = fuse(node, log) || changed;
  });
  return changed;
}

}  // namespace torchlet::passes
