#include "passes/padding.h"

#include <string_view>
#include <vector>

#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "passes/analysis/rewrite.h"
#include "tensor/containers.h"

namespace torchlet::passes {
namespace {

const Symbol kPad("aten::pad"), kConstantPad("aten::constant_pad_nd"), kConv1d("aten::conv1d"),
    kConv2d("aten::conv2d"), kConv3d("aten::conv3d");

// pad(input, pad, mode, value) or constant_pad_nd(input, pad, value) with zeros.
bool pads_with_zeros(const Node& node) {
  const Value* value = nullptr;
  if (node.kind() == kPad && node.inputs().size() == 4) {
    const Value* mode = constant_of(node.input(2));
    if (!mode || !mode->is_string() || mode->to_string() != "constant") return false;
    value = constant_of(node.input(3));
    if (value && value->is_none()) return true;
  } else if (node.kind() == kConstantPad && node.inputs().size() == 3) {
    value = constant_of(node.input(2));
  }
  return value && (value->is_int() || value->is_float()) && value->to_double() == 0;
}

// (input, weight, bias, stride, padding, dilation, groups)
bool fold(Node& conv, size_t dims, ChangeLog* log) {
  Node& pad = *conv.input(0)->node();
  if (!pads_with_zeros(pad) || pad.output()->users().size() != 1 ||
      may_change_between(pad.input(0), pad, conv)) {
    return false;
  }
  // The last dimension comes first, both ends of it.
  const auto ends = constant_ints(pad.input(1));
  auto padding = constant_ints(conv.input(4));
  if (!ends || !padding || ends->size() != 2 * dims) return false;
  if (padding->size() == 1) padding->resize(dims, padding->front());
  if (padding->size() != dims) return false;
  std::vector<Value> sum;
  for (size_t d = 0; d < dims; ++d) {
    const int64_t begin = (*ends)[2 * (dims - 1 - d)], end = (*ends)[2 * (dims - 1 - d) + 1];
    if (begin != end || begin < 0 || begin > (1 << 20)) return false;
    sum.push_back(Value((*padding)[d] + begin));
  }
  conv.replace_input(4, insert_constant(&conv, make_list(types::integer(), std::move(sum)),
                                        types::list(types::integer())));
  if (log) log->note(place_of(pad) + " folded into " + place_of(conv));
  conv.replace_input(0, pad.input(0));
  pad.destroy();
  return true;
}

}  // namespace

bool fold_padding(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    const size_t dims = node.kind() == kConv1d   ? 1
                        : node.kind() == kConv2d ? 2
                        : node.kind() == kConv3d ? 3
                                                 : 0;
    // With padding="same" the fifth argument is a string.
    if (dims && node.op() && node.inputs().size() == 7) changed = fold(node, dims, log) || changed;
  });
  return changed;
}

}  // namespace torchlet::passes
