#include "passes/pool_first.h"

#include <algorithm>

#include "passes/analysis/constants.h"
#include "passes/analysis/rewrite.h"
#include "passes/analysis/scalable_layer.h"
#include "tensor/containers.h"

namespace torchlet::passes {
namespace {

const Symbol kPool("aten::avg_pool2d");

// Is the argument a constant list of ints of which each, at least one, is what `fits` asks for?
template <typename Fits>
bool all_items(const Node& node, const char* argument, const Fits& fits) {
  const Value* list = constant_argument(node, argument);
  return list && list->is_list() && !list->list_ref().items.empty() &&
         std::ranges::all_of(list->list_ref().items, [&](const Value& item) {
           return item.is_int() && fits(item.to_int());
         });
}
bool is_zero(int64_t item) { return item == 0; }
bool is_one(int64_t item) { return item == 1; }
bool is_above_one(int64_t item) { return item > 1; }

bool steps_over_pixels(const Node& pool) {
  if (!pool.op()->schema.overload.empty()) return false;
  const Value* stride = constant_argument(pool, "stride");
  const bool is_kernel = stride && stride->is_list() && stride->list_ref().items.empty();
  const Value* divisor = constant_argument(pool, "divisor_override");
  return all_items(pool, is_kernel ? "kernel_size" : "stride", is_above_one) &&
         all_items(pool, "padding", is_zero) && divisor && divisor->is_none();
}

bool reads_single_pixels(const ScalableLayer& layer) {
  const Node& node = *layer.node;
  return !layer.is_linear && layer.channel_dim == 0 && layer.weight.dim() == 4 &&
         layer.weight.size(2) == 1 && layer.weight.size(3) == 1 &&
         all_items(node, "stride", is_one) && all_items(node, "padding", is_zero);
}

bool swap(Node& pool, ChangeLog* log) {
  if (!steps_over_pixels(pool)) return false;
  const auto layer = sole_scalable_layer(pool.input(0), pool);
  if (!layer || !reads_single_pixels(*layer)) return false;
  Node& conv = *layer->node;
  std::vector<SsaValue*> inputs = {conv.input(0)};
  for (size_t i = 1; i < pool.inputs().size(); ++i) {
    const Value* constant = constant_of(pool.input(i));
    if (!constant) return false;
    inputs.push_back(insert_constant(&conv, *constant, pool.input(i)->type()));
  }
  if (log) log->note(place_of(pool) + " goes before " + place_of(conv));
  Node* first = insert_call(&conv, *pool.op(), inputs);
  first->set_range(pool.range());
  first->set_inlined_call(pool.inlined_call());
  conv.replace_input(0, first->output());
  pool.output()->replace_all_uses_with(conv.output());
  pool.destroy();
  return true;
}

}  // namespace

bool pool_first(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() == kPool && node.op()) changed = swap(node, log) || changed;
  });
  return changed;
}

}  // namespace torchlet::passes
