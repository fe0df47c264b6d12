// Linear layers and matrix products.
#include "base/checked.h"
#include "device/nnapi/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::nnapi {
namespace {

bool is_per_channel(const Tensor& weight) {
  return weight.impl()->quantizer && !weight.impl()->quantizer->per_tensor();
}

void lower_linear(ModelBuilder& model, const Call& call) {
  add_linear(model, call, call.argument("input"), call.known_tensor("weight"),
             call.known_tensor("bias"));
}

// bias + rows * weight, of a known weight.
void lower_addmm(ModelBuilder& model, const Call& call) {
  if (call.known_double("beta") != 1 || call.known_double("alpha") != 1) {
    decline("a product with factors");
  }
  const Tensor bias = call.known_tensor(0);
  const Tensor weight = call.known_tensor("mat2");
  if (bias.dim() != 1) decline("an unusual bias");
  add_linear(model, call, call.argument("mat1"), ops::transpose(weight, 0, 1), bias);
}

void lower_matmul(ModelBuilder& model, const Call& call) {
  const CallArgument& right = call.argument(1);
  if (right.is_known() && model.describe(right).sizes.size() == 2) {
    return add_linear(model, call, call.argument(0),
                      ops::transpose(right.known().to_tensor(), 0, 1), Tensor());
  }
  model.require_level(ANEURALNETWORKS_FEATURE_LEVEL_6, "products of tensors");
  const TensorDescription a = model.describe(call, 0), b = model.describe(right);
  require_float(a);
  require_float(b);
  // NNAPI does not broadcast here.
  const size_t rank = a.sizes.size();
  if (rank < 2 || rank != b.sizes.size()) decline("matrices of several numbers of dimensions");
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (a.sizes[i] != b.sizes[i]) decline("matrices that are broadcast");
  }
  const OperandId left = model.operand(call, 0, Layout::kPlain);
  const OperandId second = model.operand(right, Layout::kPlain);
  const OperandId no = model.scalar(false);
  model.add_result(call, ANEURALNETWORKS_BATCH_MATMUL, {left, second, no, no}, Layout::kPlain);
}

// NNAPI's linear layers have one scale for all channels; its convolutions do not.
OperandId per_channel(ModelBuilder& model, OperandId rows, const LayerWeights& weights,
                      const Operand& output, int32_t activation) {
  const Operand input = model.info(rows);
  const OperandId image = model.reshaped(rows, {input.sizes[0], 1, 1, input.sizes[1]});
  std::vector<OperandId> inputs = {image, weights.filter, weights.bias};
  const OperandId zero = model.scalar(int32_t{0}), one = model.scalar(int32_t{1});
  for (int i = 0; i < 4; ++i) inputs.push_back(zero);
  inputs.push_back(one);
  inputs.push_back(one);
  inputs.push_back(model.scalar(activation));
  Operand result = output;
  result.sizes = {output.sizes[0], 1, 1, output.sizes[1]};
  const OperandId made = model.add(ANEURALNETWORKS_CONV_2D, std::move(inputs), std::move(result));
  return model.reshaped(made, output.sizes);
}

}  // namespace

void add_linear(ModelBuilder& model, const Call& call, const CallArgument& input,
                const Tensor& weight, const Tensor& bias, int32_t activation) {
  const TensorDescription x = model.describe(input), y = model.result(call);
  if (weight.dim() != 2 || x.sizes.empty() || x.sizes.back() != weight.size(1)) {
    decline("weights that do not fit");
  }
  const OperandId elements = model.in_order(input);
  const auto in = static_cast<uint32_t>(to_int32(weight.size(1)));
  const auto out = static_cast<uint32_t>(to_int32(weight.size(0)));
  uint32_t rows = 1;
  for (size_t i = 0; i + 1 < x.sizes.size(); ++i) {
    rows = static_cast<uint32_t>(to_int32(checked_mul(rows, x.sizes[i])));
  }
  const Operand whole = model.type(y, Layout::kPlain);
  Operand output = whole;
  output.sizes = {rows, out};
  const OperandId matrix = model.reshaped(elements, {rows, in});
  if (x.quantizer && is_per_channel(weight)) {
    const Tensor filter = ops::reshape(weight, IntArray{weight.size(0), 1, 1, weight.size(1)});
    const LayerWeights weights =
        quantized_weights(model, filter, bias, 0, static_cast<float>(x.quantizer->scale),
                          static_cast<float>(y.quantizer->scale));
    const OperandId made = per_channel(model, matrix, weights, output, activation);
    return model.define(call, {model.reshaped(made, whole.sizes), Layout::kPlain});
  }
  if (!x.quantizer) require_float(x);
  const LayerWeights weights =
      x.quantizer
          ? quantized_weights(model, weight, bias, 0, static_cast<float>(x.quantizer->scale),
                              static_cast<float>(y.quantizer->scale))
          : float_weights(model, weight, bias, weight.size(0));
  std::vector<OperandId> inputs = {matrix, weights.filter, weights.bias, model.scalar(activation)};
  if (whole.sizes == output.sizes) {
    return model.add_result(call, ANEURALNETWORKS_FULLY_CONNECTED, std::move(inputs),
                            Layout::kPlain, 3);
  }
  const OperandId made =
      model.add(ANEURALNETWORKS_FULLY_CONNECTED, std::move(inputs), std::move(output));
  model.define(call, {model.reshaped(made, whole.sizes), Layout::kPlain});
}

std::span<const Lowering> matrix_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::addmm", lower_addmm},   {"aten::bmm", lower_matmul}, {"aten::linear", lower_linear},
      {"aten::matmul", lower_matmul}, {"aten::mm", lower_matmul},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
