#include "passes/conv1d.h"

#include "passes/analysis/constants.h"
#include "passes/analysis/layers.h"
#include "passes/analysis/rewrite.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

const Symbol kConv2d("aten::conv2d");

// [n] -> [first, n]
SsaValue* widened(Node& conv, const char* argument, int64_t first) {
  const Value* items = constant_argument(conv, argument);
  if (!items || !items->is_list() || items->list_ref().items.size() != 1) return nullptr;
  return insert_constant(&conv,
                         make_list(types::integer(), {Value(first), items->list_ref().items[0]}),
                         types::list(types::integer()));
}

// Puts in, or takes out, the dimension before the last.
SsaValue* reshaped(Node& conv, const char* op, const char* overload, SsaValue* value, int64_t dim) {
  SsaValue* at = insert_constant(&conv, Value(dim), types::integer());
  return insert_call(&conv, *find_operator(op, overload), {value, at})->output();
}

bool widen(Node& conv, ChangeLog* log) {
  const Value* weight = constant_argument(conv, "weight");
  const Value* groups = constant_argument(conv, "groups");
  if (!weight || !weight->is_tensor() || !groups) return false;
  const Tensor narrow = weight->to_tensor();
  if (narrow.dim() != 3 || narrow.impl()->sparse || narrow.impl()->nested) return false;
  SsaValue *stride = widened(conv, "stride", 1), *padding = widened(conv, "padding", 0),
           *dilation = widened(conv, "dilation", 1);
  if (!stride || !padding || !dilation) return false;
  if (log) log->note("conv1d of " + place_of(conv) + " as conv2d");
  const IntSpan sizes = narrow.sizes(), strides = narrow.strides();
  const Tensor wide = make_view(narrow, {{sizes[0], sizes[1], 1, sizes[2]}},
                                {{strides[0], strides[1], sizes[2] * strides[2], strides[2]}},
                                narrow.storage_offset());
  SsaValue* input = reshaped(conv, "aten::unsqueeze", "", conv.input(0), -2);
  Node* made =
      insert_call(&conv, *find_operator(kConv2d.str(), ""),
                  {input, insert_constant(&conv, Value(wide), types::tensor()), conv.input(2),
                   stride, padding, dilation, insert_constant(&conv, *groups, types::integer())});
  SsaValue* output = reshaped(conv, "aten::squeeze", "dim", made->output(), -2);
  replace_by(conv, *output->node());
  return true;
}

}  // namespace

bool widen_conv1d(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (is_transposed_convolution(node) == false) changed = widen(node, log) || changed;
  });
  return changed;
}

}  // namespace torchlet::passes
