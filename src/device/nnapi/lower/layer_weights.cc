// Weights and biases of layers as operands.
#include <algorithm>
#include <cmath>
#include <limits>

#include "device/nnapi/lower/lowering.h"

namespace torchlet::nnapi {
namespace {

// The bias as a sum of products of that scale: rounded and saturated as QNNPACK does.
int32_t quantized_bias(float value, float scale) {
  if (value == 0) return 0;
  const double steps = std::nearbyint(value * (1 / scale));
  return static_cast<int32_t>(std::clamp(steps,
                                         static_cast<double>(std::numeric_limits<int32_t>::min()),
                                         static_cast<double>(std::numeric_limits<int32_t>::max())));
}

// Of each channel, in float.
struct ChannelScales {
  std::vector<float> scales;
  bool per_tensor;
};

ChannelScales channel_scales(const Quantizer& quantizer, size_t channels) {
  if (quantizer.per_tensor()) {
    return {std::vector<float>(channels, static_cast<float>(quantizer.scale)), true};
  }
  const Tensor scales = quantizer.scales.to(DType::kFloat32).contiguous();
  const Tensor zeros = quantizer.zero_points.to(DType::kInt64).contiguous();
  if (static_cast<size_t>(scales.numel()) != channels || zeros.numel() != scales.numel()) {
    decline("scales for other channels");
  }
  const int64_t* zero = zeros.data_ptr<int64_t>();
  if (std::any_of(zero, zero + channels, [](int64_t z) { return z != 0; })) {
    decline("weights with zero points per channel");
  }
  const float* scale = scales.data_ptr<float>();
  return {{scale, scale + channels}, false};
}

std::vector<uint32_t> sizes_of(const Tensor& tensor) {
  return operand_sizes(tensor.sizes(), Layout::kPlain);
}

// Integers of 0 to 255 with the zero point where it was among those of -128 to 127.
Operand unsigned_filter(const Tensor& weight, const Quantizer& quantizer) {
  const Tensor dense = weight.contiguous();
  const Tensor shifted = empty(dense.sizes(), DType::kUInt8);
  const auto* from = reinterpret_cast<const int8_t*>(dense.impl()->data());
  auto* to = reinterpret_cast<uint8_t*>(shifted.impl()->data());
  std::transform(from, from + dense.numel(), to,
                 [](int8_t value) { return static_cast<uint8_t>(value + 128); });
  Operand filter;
  filter.code = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
  filter.sizes = sizes_of(weight);
  filter.scale = static_cast<float>(quantizer.scale);
  filter.zero_point = to_int32(quantizer.zero_point + 128);
  filter.tensor = shifted;
  if (!(filter.scale > 0) || filter.zero_point < 0 || filter.zero_point > 255) {
    decline("an unusual scale or zero point of the weights");
  }
  return filter;
}

Operand channel_filter(const Tensor& weight, uint32_t channel_dim, std::vector<float> scales) {
  if (std::ranges::any_of(scales, [](float scale) { return !(scale > 0); })) {
    decline("an unusual scale of the weights");
  }
  Operand filter;
  filter.code = ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL;
  filter.sizes = sizes_of(weight);
  filter.channel_scales = std::move(scales);
  filter.channel_dim = channel_dim;
  filter.tensor = weight.contiguous();
  return filter;
}

}  // namespace

LayerWeights float_weights(ModelBuilder& model, const Tensor& weight, const Tensor& bias,
                           int64_t channels) {
  require_float(device::describe(weight));
  if (bias.defined() && (bias.numel() != channels || bias.dim() != 1)) decline("an unusual bias");
  Tensor added = bias.defined() ? bias : zeros(IntArray{channels}, DType::kFloat32);
  require_float(device::describe(added));
  return {model.constant(weight), model.constant(added)};
}

LayerWeights quantized_weights(ModelBuilder& model, const Tensor& weight, const Tensor& bias,
                               uint32_t channel_dim, float input_scale, float output_scale) {
  if (weight.dtype() != DType::kQInt8 || !weight.impl()->quantizer) decline("no qint8 weights");
  const Quantizer& quantizer = *weight.impl()->quantizer;
  const auto channels = static_cast<size_t>(weight.size(channel_dim));
  const auto [scales, per_tensor] = channel_scales(quantizer, channels);
  if (bias.defined() && static_cast<size_t>(bias.numel()) != channels) decline("an unusual bias");

  const Tensor sums = zeros(IntArray{static_cast<int64_t>(channels)}, DType::kInt32);
  const Tensor values = bias.defined() ? bias.to(DType::kFloat32).contiguous() : Tensor();
  for (size_t i = 0; i < channels; ++i) {
    const float scale = input_scale * scales[i];
    if (!(scale > 0)) decline("a scale that is too small for NNAPI");
    if (model.level() < ANEURALNETWORKS_FEATURE_LEVEL_3 && scale >= output_scale) {
      decline(
          "this NNAPI is too old for an output scale that is not above those of input and "
          "weights multiplied");
    }
    if (values.defined())
      sums.data_ptr<int32_t>()[i] = quantized_bias(values.data_ptr<float>()[i], scale);
  }
  Operand sum;
  sum.code = ANEURALNETWORKS_TENSOR_INT32;
  sum.sizes = {static_cast<uint32_t>(channels)};
  sum.scale = per_tensor ? input_scale * scales[0] : 0;
  sum.tensor = sums;
  Operand filter =
      per_tensor ? unsigned_filter(weight, quantizer) : channel_filter(weight, channel_dim, scales);
  return {model.constant(std::move(filter)), model.constant(std::move(sum))};
}

}  // namespace torchlet::nnapi
