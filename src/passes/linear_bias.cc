#include "passes/linear_bias.h"

#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

const Symbol kAdd("aten::add"), kLinear("aten::linear"), kMatmul("aten::matmul");

// Of float32 and that many dimensions; undefined for other constants and for what is not known.
Tensor constant_tensor(const SsaValue* value, int64_t dim) {
  const Value* constant = constant_of(value);
  if (!constant || !constant->is_tensor()) return {};
  const TensorImpl& tensor = *constant->tensor_impl();
  const bool fits =
      tensor.dtype == DType::kFloat32 && tensor.dim() == dim && !tensor.sparse && !tensor.nested;
  return fits ? constant->to_tensor() : Tensor();
}

// [outputs, inputs], of a product that has no bias yet; undefined if the node is something else.
Tensor weight_of(const Node& node) {
  if (node.kind() == kLinear) {
    const Value* bias = constant_argument(node, "bias");
    return bias && bias->is_none() ? constant_tensor(node.input(1), 2) : Tensor();
  }
  if (node.kind() != kMatmul || node.inputs().size() != 2) return {};
  const Tensor matrix = constant_tensor(node.input(1), 2);
  if (!matrix.defined()) return {};
  const IntSpan sizes = matrix.sizes(), strides = matrix.strides();
  return make_view(matrix, {{sizes[1], sizes[0]}}, {{strides[1], strides[0]}},
                   matrix.storage_offset());
}

bool fold(Node& add, size_t place, ChangeLog* log) {
  static const Operator* const op = find_operator("aten::linear", "");
  if (!op) return false;  // in a build of some operators
  const Value* alpha = constant_argument(add, "alpha");
  const bool plain = alpha && (alpha->is_int() || alpha->is_float()) && alpha->to_double() == 1;
  Node& product = *add.input(place)->node();
  if (!plain || !product.op() || add.input(place)->users().size() != 1 ||
      product.owner() != add.owner() || may_change_between(product.input(0), product, add)) {
    return false;
  }
  const Tensor weight = weight_of(product), bias = constant_tensor(add.input(1 - place), 1);
  if (!weight.defined() || !bias.defined() || bias.size(0) != weight.size(0)) return false;
  Node* linear = add.graph()->create(
      kLinear, {product.input(0), insert_constant(&add, Value(weight), types::tensor()),
                insert_constant(&add, Value(bias), types::tensor())});
  linear->set_op(op);
  linear->set_range(product.range());
  linear->set_inlined_call(product.inlined_call());
  linear->insert_before(&add);
  if (log) log->note("an addition became the bias of a product in " + place_of(product));
  add.output()->replace_all_uses_with(linear->add_output(types::tensor()));
  add.destroy();
  product.destroy();
  return true;
}

}  // namespace

bool fold_linear_biases(Graph& graph, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    if (node.kind() == kAdd && node.op() && node.op()->schema.overload == "Tensor") {
      changed |= fold(node, 0, log) || fold(node, 1, log);
    }
  });
  return changed;
}

}  // namespace torchlet::passes
