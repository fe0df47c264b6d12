#include "prepare/nnapi/channel_scales.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/error.h"
#include "tensor/tensor_impl.h"

namespace torchlet::prepare {
namespace {

using nnapi::Operand;
using nnapi::OperandId;
using nnapi::Operation;

bool is_per_channel(const Operand& operand) {
  return operand.code == ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL;
}

template <typename T>
const T* values_of(const Operand& operand) {
  const std::byte* data =
      operand.tensor.defined() ? operand.tensor.impl()->data() : operand.bytes.data();
  return reinterpret_cast<const T*>(data);
}

// The number of an operand with `scale_of(place along dim)` for a unit, as float32.
template <typename T, typename ScaleOf>
Operand scaled(const Operand& integers, size_t dim, const ScaleOf& scale_of) {
  Operand result;
  result.code = ANEURALNETWORKS_TENSOR_FLOAT32;
  result.sizes = integers.sizes;
  result.tensor = empty(IntArray(result.sizes.begin(), result.sizes.end()), DType::kFloat32);
  size_t inner = 1;
  for (size_t i = dim + 1; i < result.sizes.size(); ++i) inner *= result.sizes[i];
  const T* from = values_of<T>(integers);
  auto* to = result.tensor.data_ptr<float>();
  for (size_t i = 0; i < static_cast<size_t>(result.tensor.numel()); ++i) {
    to[i] = static_cast<float>(from[i] * scale_of(i / inner % result.sizes[dim]));
  }
  return result;
}

// The filter as PyTorch has it.
Tensor quantized(const Operand& filter) {
  auto quantizer = std::make_shared<Quantizer>();
  quantizer->qscheme = QScheme::kPerChannelAffine;
  const IntArray channels = {static_cast<int64_t>(filter.channel_scales.size())};
  quantizer->scales = empty(channels, DType::kFloat64);
  std::ranges::copy(filter.channel_scales, quantizer->scales.data_ptr<double>());
  quantizer->zero_points = zeros(channels, DType::kInt64);
  quantizer->axis = filter.channel_dim;
  const IntArray sizes(filter.sizes.begin(), filter.sizes.end());
  const Tensor tensor = empty_quantized(sizes, DType::kQInt8, std::move(quantizer));
  std::memcpy(tensor.raw_data(), values_of<int8_t>(filter), static_cast<size_t>(tensor.numel()));
  return tensor;
}

class Rewriter {
 public:
  explicit Rewriter(nnapi::Model model) : model_(std::move(model)) {}

  WithoutChannelScales run() {
    std::vector<Operation> operations = std::move(model_.operations);
    for (Operation& operation : operations) {
      const bool is_changed = std::ranges::any_of(
          operation.inputs, [&](OperandId id) { return is_per_channel(model_.operands[id]); });
      if (is_changed) {
        rewrite(std::move(operation));
      } else {
        model_.operations.push_back(std::move(operation));
      }
    }
    drop_unused();
    return {std::move(model_), std::move(filters_)};
  }

 private:
  // NNAPI has such weights in convolutions alone: (input, filter, bias, ...) -> output.
  void rewrite(Operation layer) {
    const Operand filter = model_.operands[layer.inputs[1]];
    const Operand bias = model_.operands[layer.inputs[2]];
    const double input_scale = model_.operands[layer.inputs[0]].scale;
    const auto unit = [&](size_t channel) -> double { return filter.channel_scales[channel]; };
    layer.inputs[0] = dequantized(layer.inputs[0]);
    layer.inputs[1] = add(scaled<int8_t>(filter, filter.channel_dim, unit));
    filters_.push_back({layer.inputs[1], quantized(filter)});
    layer.inputs[2] =
        add(scaled<int32_t>(bias, 0, [&](size_t channel) { return unit(channel) * input_scale; }));
    const OperandId output = layer.outputs[0];
    layer.outputs[0] = add(float_like(model_.operands[output]));
    const OperandId result = layer.outputs[0];
    model_.operations.push_back(std::move(layer));
    model_.operations.push_back({ANEURALNETWORKS_QUANTIZE, {result}, {output}});
  }

  OperandId dequantized(OperandId id) {
    const auto [known, is_new] = dequantized_.try_emplace(id, 0);
    if (is_new) {
      known->second = add(float_like(model_.operands[id]));
      model_.operations.push_back({ANEURALNETWORKS_DEQUANTIZE, {id}, {known->second}});
    }
    return known->second;
  }

  static Operand float_like(const Operand& quantized) {
    Operand result;
    result.code = ANEURALNETWORKS_TENSOR_FLOAT32;
    result.sizes = quantized.sizes;
    return result;
  }

  OperandId add(Operand operand) {
    model_.operands.push_back(std::move(operand));
    return static_cast<OperandId>(model_.operands.size() - 1);
  }

  // Weights and biases that nothing reads any more.
  void drop_unused() {
    std::vector<OperandId> renumbered(model_.operands.size(), 0);
    const auto each_use = [&](const auto& visit) {
      for (Operation& operation : model_.operations) {
        std::ranges::for_each(operation.inputs, visit);
        std::ranges::for_each(operation.outputs, visit);
      }
      std::ranges::for_each(model_.inputs, visit);
      std::ranges::for_each(model_.outputs, visit);
      for (DequantizedConstant& filter : filters_) visit(filter.id);
    };
    each_use([&](OperandId& id) { renumbered[id] = 1; });
    std::vector<Operand> kept;
    for (size_t i = 0; i < renumbered.size(); ++i) {
      if (!renumbered[i]) continue;
      renumbered[i] = static_cast<OperandId>(kept.size());
      kept.push_back(std::move(model_.operands[i]));
    }
    model_.operands = std::move(kept);
    each_use([&](OperandId& id) { id = renumbered[id]; });
  }

  nnapi::Model model_;
  std::vector<DequantizedConstant> filters_;
  std::unordered_map<OperandId, OperandId> dequantized_;
};

}  // namespace

WithoutChannelScales without_channel_scales(nnapi::Model model) {
  return Rewriter(std::move(model)).run();
}

}  // namespace torchlet::prepare
