#include "passes/prepack.h"

#include <algorithm>
#include <optional>

#include "passes/analysis/constants.h"
#include "passes/analysis/layers.h"
#include "passes/analysis/rewrite.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

const Symbol kConv2d("aten::conv2d"), kTransposed("aten::conv_transpose2d"),
    kLinear("aten::linear"), kAddRelu("aten::_add_relu");
const Symbol kConv2dRun("prepacked::conv2d_clamp_run"),
    kTransposedRun("prepacked::conv2d_transpose_clamp_run"),
    kLinearRun("prepacked::linear_clamp_run");

bool is_plain(const Tensor& tensor, int64_t dim) {
  const TensorImpl& impl = *tensor.impl();
  return impl.dtype == DType::kFloat32 && impl.dim() == dim && impl.numel > 0 && !impl.sparse &&
         !impl.nested;
}

// (weight, bias) if they are constants that can be packed.
std::optional<std::vector<Value>> weights_of(const Node& node, int64_t dim) {
  const Value *weight = constant_argument(node, "weight"), *bias = constant_argument(node, "bias");
  if (!weight || !weight->is_tensor() || !is_plain(weight->to_tensor(), dim)) return std::nullopt;
  if (!bias || !(bias->is_none() || (bias->is_tensor() && is_plain(bias->to_tensor(), 1)))) {
    return std::nullopt;
  }
  return std::vector<Value>{*weight, *bias};
}

// Two numbers, each at least that; one stands for both.
std::optional<Value> pair_of(const Value* value, int64_t least) {
  if (!value || !value->is_list()) return std::nullopt;
  std::vector<Value> items = value->to_list();
  if (items.empty() || items.size() > 2) return std::nullopt;
  items.resize(2, items.front());
  const auto fits = [&](const Value& item) { return item.is_int() && item.to_int() >= least; };
  if (!std::ranges::all_of(items, fits)) return std::nullopt;
  return make_list(types::integer(), std::move(items));
}

// padding="valid" is none; "same" is half of what the window reaches beyond one pixel, if that has
// two equal halves.
std::optional<Value> padding_of(const Value* text, const Tensor& weight, const Value& dilation) {
  if (!text || !text->is_string()) return pair_of(text, 0);
  if (text->to_string() == "valid") return make_int_list(std::vector<int64_t>{0, 0});
  if (text->to_string() != "same") return std::nullopt;
  std::vector<int64_t> padding;
  for (int64_t d = 0; d < 2; ++d) {
    int64_t reach;
    if (__builtin_mul_overflow(dilation.to_list()[static_cast<size_t>(d)].to_int(),
                               weight.size(2 + d) - 1, &reach) ||
        reach % 2 != 0) {
      return std::nullopt;
    }
    padding.push_back(reach / 2);
  }
  return make_int_list(padding);
}

// Arguments of the operator that packs, but for the bounds.
struct Packing {
  const char* op;
  Symbol run;
  std::vector<Value> arguments;
};

std::optional<Packing> packing_of(const Node& node) {
  if (node.kind() == kLinear) {
    auto arguments = weights_of(node, 2);
    if (!arguments) return std::nullopt;
    return Packing{"prepacked::linear_clamp_prepack", kLinearRun, *std::move(arguments)};
  }
  const auto transposed = is_transposed_convolution(node);
  auto arguments = transposed ? weights_of(node, 4) : std::nullopt;
  const Value* groups = constant_argument(node, "groups");
  if (!arguments || !groups || !groups->is_int() || groups->to_int() < 1) return std::nullopt;
  const Tensor weight = (*arguments)[0].to_tensor();
  const auto stride = pair_of(constant_argument(node, "stride"), 1);
  const auto dilation = pair_of(constant_argument(node, "dilation"), 1);
  if (!stride || !dilation) return std::nullopt;
  const auto padding = padding_of(constant_argument(node, "padding"), weight, *dilation);
  if (!padding) return std::nullopt;
  arguments->insert(arguments->end(), {*stride, *padding});
  if (*transposed) {
    const auto output_padding = pair_of(constant_argument(node, "output_padding"), 0);
    if (!output_padding) return std::nullopt;
    arguments->push_back(*output_padding);
  }
  arguments->insert(arguments->end(), {*dilation, *groups});
  return Packing{
      *transposed ? "prepacked::conv2d_transpose_clamp_prepack" : "prepacked::conv2d_clamp_prepack",
      *transposed ? kTransposedRun : kConv2dRun, *std::move(arguments)};
}

bool prepack(Node& node, ChangeLog* log) {
  auto packing = packing_of(node);
  if (!packing) return false;
  const Operator& pack = *find_operator(packing->op, "");
  packing->arguments.resize(pack.schema.arguments.size());  // no bounds
  Value context;
  pack.call(packing->arguments, {&context, 1});
  if (log) log->note(node.kind().str() + " of " + place_of(node));
  Node* run =
      insert_call(&node, *find_operator(packing->run.str(), ""),
                  {node.input(0), insert_constant(&node, context, pack.schema.returns[0].type)});
  replace_by(node, *run);
  return true;
}

// ---- back ----

SsaValue* constant(Node& before, const Value& value) {
  return insert_constant(&before, value, type_of(value));
}

// The last two items of a context's state are its bounds.
void clamp_output(Node& node, Node& layer, const Value& low, const Value& high) {
  Node* last = &layer;
  if (!low.is_none() || !high.is_none()) {
    const bool is_relu = high.is_none() && low.to_double() == 0;
    std::vector<SsaValue*> inputs = {layer.output()};
    if (!is_relu) inputs.insert(inputs.end(), {constant(node, low), constant(node, high)});
    last = insert_call(&node, *find_operator(is_relu ? "aten::relu" : "aten::clamp", ""), inputs);
  }
  replace_by(node, *last);
}

bool unpack(Node& node) {
  const bool transposed = node.kind() == kTransposedRun;
  if (!transposed && node.kind() != kConv2dRun && node.kind() != kLinearRun) return false;
  const CustomObject* context = packed_context(node);
  if (!context) return false;
  // A build of some operators may have the packed ones alone.
  const bool linear = node.kind() == kLinearRun;
  const Operator* op = linear       ? find_operator(kLinear.str(), "")
                       : transposed ? find_operator(kTransposed.str(), "input")
                                    : find_operator(kConv2d.str(), "");
  if (!op || !find_operator("aten::relu", "") || !find_operator("aten::clamp", "")) return false;
  std::vector<Value> state = context->get_state().to_tuple();
  const Value high = state.back(), low = state[state.size() - 2];
  state.resize(state.size() - 2);
  // conv_transpose2d() takes the groups before the dilation.
  if (transposed) std::swap(state[5], state[6]);
  std::vector<SsaValue*> inputs = {node.input(0)};
  for (const Value& item : state) inputs.push_back(constant(node, item));
  clamp_output(node, *insert_call(&node, *op, std::move(inputs)), low, high);
  return true;
}

bool split_add_relu(Node& node) {
  if (node.kind() != kAddRelu || !node.op() || node.op()->schema.overload != "Tensor") return false;
  const Operator *add = find_operator("aten::add", "Tensor"),
                 *relu = find_operator("aten::relu", "");
  if (!add || !relu) return false;
  Node* sum = insert_call(&node, *add, node.inputs());
  replace_by(node, *insert_call(&node, *relu, {sum->output()}));
  return true;
}

}  // namespace

bool prepack_layers(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.op()) changed = prepack(node, log) || changed;
  });
  return changed;
}

bool unpack_layers(Graph& graph) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.op()) changed = unpack(node) || split_add_relu(node) || changed;
  });
  return changed;
}

}  // namespace torchlet::passes
