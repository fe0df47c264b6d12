// Normalizations, which NNAPI has no operations for: by arithmetic.
#include <cmath>

#include "device/nnapi/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::nnapi {
namespace {

// (x - mean) / sqrt(var + eps) * weight + bias, of known numbers per channel.
void lower_batch_norm(ModelBuilder& model, const Call& call) {
  if (call.known_bool("training")) decline("a batch norm that is trained");
  const TensorDescription input = model.describe(call, 0);
  require_float(input);
  if (input.sizes.size() < 2) decline("no channels");
  const int64_t channels = input.sizes[1];
  const auto numbers = [&](const char* name, float otherwise) {
    Tensor tensor = call.known_tensor(name);
    if (!tensor.defined()) tensor = ops::full(IntArray{channels}, otherwise, DType::kFloat32);
    if (tensor.numel() != channels) decline("numbers for other channels");
    return tensor.to(DType::kFloat32).contiguous();
  };
  const Tensor mean = numbers("running_mean", 0), var = numbers("running_var", 1),
               weight = numbers("weight", 1), bias = numbers("bias", 0);
  const double eps = call.known_double("eps");
  const Held x = model.held(call, 0);
  IntArray sizes(input.sizes.size(), 1);
  sizes[x.layout == Layout::kNhwc ? 3 : 1] = channels;
  const Tensor scale = empty(sizes, DType::kFloat32), shift = empty(sizes, DType::kFloat32);
  for (int64_t i = 0; i < channels; ++i) {
    const double factor = weight.data_ptr<float>()[i] /
                          std::sqrt(static_cast<double>(var.data_ptr<float>()[i]) + eps);
    scale.data_ptr<float>()[i] = static_cast<float>(factor);
    shift.data_ptr<float>()[i] = static_cast<float>(
        bias.data_ptr<float>()[i] - factor * static_cast<double>(mean.data_ptr<float>()[i]));
  }
  const OperandId factors = model.constant(scale), added = model.constant(shift);
  const OperandId none = model.scalar(int32_t{ANEURALNETWORKS_FUSED_NONE});
  const OperandId product =
      model.add(ANEURALNETWORKS_MUL, {x.id, factors, none}, model.type(input, x.layout));
  model.add_result(call, ANEURALNETWORKS_ADD, {product, added, none}, x.layout, 2);
}

// Of all elements of the last dimensions that the weights have.
void lower_layer_norm(ModelBuilder& model, const Call& call) {
  const TensorDescription input = model.describe(call, 0);
  require_float(input);
  const auto rank = static_cast<int32_t>(input.sizes.size());
  const auto count = static_cast<int32_t>(call.known_ints("normalized_shape").size());
  if (count < 1 || count > rank) decline("an unusual shape");
  const OperandId x = model.operand(call, 0, Layout::kPlain);
  const Operand whole = model.type(input, Layout::kPlain);
  Operand row = whole;
  std::vector<int32_t> axes;
  for (int32_t axis = rank - count; axis < rank; ++axis) {
    axes.push_back(axis);
    row.sizes[static_cast<size_t>(axis)] = 1;
  }
  const OperandId along = model.ints(axes), keep = model.scalar(int32_t{1});
  const OperandId none = model.scalar(int32_t{ANEURALNETWORKS_FUSED_NONE});
  const auto binary = [&](int32_t code, OperandId a, OperandId b, const Operand& output) {
    return model.add(code, {a, b, none}, output);
  };
  const OperandId mean = model.add(ANEURALNETWORKS_MEAN, {x, along, keep}, row);
  const OperandId centred = binary(ANEURALNETWORKS_SUB, x, mean, whole);
  const OperandId squares = binary(ANEURALNETWORKS_MUL, centred, centred, whole);
  const OperandId variance = model.add(ANEURALNETWORKS_MEAN, {squares, along, keep}, row);
  const OperandId eps = model.constant(static_cast<float>(call.known_double("eps")));
  const OperandId above = binary(ANEURALNETWORKS_ADD, variance, eps, row);
  const OperandId factor = model.add(ANEURALNETWORKS_RSQRT, {above}, row);
  OperandId made = binary(ANEURALNETWORKS_MUL, centred, factor, whole);
  const Tensor weight = call.known_tensor("weight"), bias = call.known_tensor("bias");
  if (weight.defined()) {
    made = binary(ANEURALNETWORKS_MUL, made, model.constant(weight), whole);
  }
  if (bias.defined()) made = binary(ANEURALNETWORKS_ADD, made, model.constant(bias), whole);
  model.define(call, {made, Layout::kPlain});
}

}  // namespace

std::span<const Lowering> norm_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::batch_norm", lower_batch_norm},
      {"aten::layer_norm", lower_layer_norm},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
