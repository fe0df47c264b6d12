#include "passes/conv1d.h"

#include <optional>

#include "passes/analysis/constants.h"
#include "passes/analysis/rewrite.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

const Symbol kConv1d("aten::conv1d"), kConv2d("aten::conv2d");

// [n] -> [first, n]
SsaValue* widened(Node& conv, size_t input, int64_t first) {
  const auto items = constant_ints(conv.input(input));
  if (!items || items->size() != 1) return nullptr;
  return insert_constant(&conv, make_int_list(std::vector<int64_t>{first, items->front()}),
                         types::list(types::integer()));
}

// Puts in, or takes out, the dimension before the last.
SsaValue* reshaped(Node& conv, const char* op, const char* overload, SsaValue* value, int64_t dim) {
  SsaValue* at = insert_constant(&conv, Value(dim), types::integer());
  return insert_call(&conv, *find_operator(op, overload), {value, at})->output();
}

// (input, weight, bias, stride, padding, dilation, groups)
bool widen(Node& conv, ChangeLog* log) {
  const Value* weight = constant_argument(conv, "weight");
  if (!weight || !weight->is_tensor()) return false;
  const Tensor narrow = weight->to_tensor();
  if (narrow.dim() != 3 || narrow.impl()->sparse || narrow.impl()->nested) return false;
  SsaValue *stride = widened(conv, 3, 1), *padding = widened(conv, 4, 0),
           *dilation = widened(conv, 5, 1);
  if (!stride || !padding || !dilation) return false;
  if (log) log->note("conv1d of " + place_of(conv) + " as conv2d");
  const IntSpan sizes = narrow.sizes(), strides = narrow.strides();
  const Tensor wide = make_view(narrow, {{sizes[0], sizes[1], 1, sizes[2]}},
                                {{strides[0], strides[1], sizes[2] * strides[2], strides[2]}},
                                narrow.storage_offset());
  SsaValue* input = reshaped(conv, "aten::unsqueeze", "", conv.input(0), -2);
  Node* made = insert_call(&conv, *find_operator(kConv2d.str(), ""),
                           {input, insert_constant(&conv, Value(wide), types::tensor()),
                            conv.input(2), stride, padding, dilation, conv.input(6)});
  SsaValue* output = reshaped(conv, "aten::squeeze", "dim", made->output(), -2);
  replace_by(conv, *output->node());
  return true;
}

}  // namespace

bool widen_conv1d(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() == kConv1d && node.op() && node.op()->schema.overload.empty()) {
      changed = widen(node, log) || changed;
    }
  });
  return changed;
}

}  // namespace torchlet::passes
