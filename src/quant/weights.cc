#include "quant/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "graph/operator.h"
#include "ops/engines/quantize.h"
#include "quant/qparams.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::quant {
namespace {

constexpr double kLargestBias = 0x1p29;

double squared_error(std::span<const float> weights, double scale) {
  const auto inverse = static_cast<float>(1 / scale), step = static_cast<float>(scale);
  double sum = 0;
  for (const float w : weights) {
    const float error = std::clamp(std::nearbyint(w * inverse), -128.0f, 127.0f) * step - w;
    sum += static_cast<double>(error * error);
  }
  return sum;
}

// From all that fits down to 6/10 of it.
double best_scale(std::span<const float> weights) {
  float largest = 0;
  for (const float w : weights) largest = std::max(largest, std::fabs(w));
  const double full = symmetric_scale(largest);
  double best = full, least = std::numeric_limits<double>::infinity();
  for (int percent = 101; percent >= 60; --percent) {
    const double scale = full * percent / 100;
    const double error = squared_error(weights, scale);
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return static_cast<float>(best);
}

std::shared_ptr<const Quantizer> quantizer_of(const std::vector<double>& scales) {
  auto quantizer = std::make_shared<Quantizer>();
  const auto count = static_cast<int64_t>(scales.size());
  quantizer->qscheme = QScheme::kPerChannelAffine;
  quantizer->scales = empty(IntArray{count}, DType::kFloat64);
  std::ranges::copy(scales, quantizer->scales.data_ptr<double>());
  quantizer->zero_points = zeros(IntArray{count}, DType::kInt64);
  quantizer->axis = 0;
  return quantizer;
}

// The bias less the mean of what the rounding of the weights adds.
Tensor corrected_bias(const WeightedLayer& layer, const Tensor& quantized,
                      std::span<const double> means) {
  const Tensor real = layer.weight.contiguous(), rounded = ops::dequantize(quantized).contiguous();
  const int64_t outputs = real.size(0), inputs = real.size(1);
  const int64_t window = real.numel() / (outputs * inputs);
  if (std::ssize(means) != inputs * layer.groups) return layer.bias;
  const Tensor bias = layer.bias.defined() ? layer.bias.contiguous().clone()
                                           : zeros(IntArray{outputs}, DType::kFloat32);
  const float *w = real.data_ptr<float>(), *q = rounded.data_ptr<float>();
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t first = o / (outputs / layer.groups) * inputs;
    double shift = 0;
    for (int64_t i = 0; i < inputs; ++i) {
      double difference = 0;
      for (int64_t k = 0; k < window; ++k) difference += static_cast<double>(*q++ - *w++);
      shift += difference * means[static_cast<size_t>(first + i)];
    }
    bias.data_ptr<float>()[o] -= static_cast<float>(shift);
  }
  return bias;
}

Value call(const char* name, std::vector<Value> arguments) {
  const Operator* op = find_operator(name, "");
  if (!op) fail(ErrorCode::kInternal, "there is no operator %s", name);
  Value result;
  op->call(arguments, std::span(&result, 1));
  return result;
}

}  // namespace

Tensor quantize_weight(const Tensor& weight, const Tensor& bias, const WeightOptions& options) {
  const Tensor dense = weight.contiguous();
  const std::span<const float> all(dense.data_ptr<float>(), static_cast<size_t>(dense.numel()));
  const auto outputs = static_cast<size_t>(dense.size(0));
  const size_t each = all.size() / outputs;
  const auto least = [&](size_t output) {
    if (!bias.defined()) return 0.0;
    const double b = static_cast<double>(bias.contiguous().data_ptr<float>()[output]);
    return std::fabs(b) / (kLargestBias * options.input_scale);
  };
  if (options.per_channel) {
    std::vector<double> scales(outputs);
    for (size_t o = 0; o < outputs; ++o) {
      scales[o] = std::max(best_scale(all.subspan(o * each, each)), least(o));
    }
    return ops::quantize(dense, DType::kQInt8, quantizer_of(scales));
  }
  double scale = best_scale(all);
  for (size_t o = 0; o < outputs; ++o) scale = std::max(scale, least(o));
  return ops::quantize(dense, DType::kQInt8, per_tensor_quantizer(scale, 0));
}

Value pack(const WeightedLayer& layer, LayerKind kind, const WeightOptions& options) {
  const Tensor weight = quantize_weight(layer.weight, layer.bias, options);
  const Tensor bias =
      options.input_means.empty() ? layer.bias : corrected_bias(layer, weight, options.input_means);
  if (kind == LayerKind::kLinear) {
    return call("quantized::linear_prepack", {Value(weight), Value(bias)});
  }
  const auto ints = [](const std::vector<int64_t>& values) { return make_int_list(values); };
  const bool is_line = layer.weight.dim() == 3;
  return call(is_line ? "quantized::conv1d_prepack" : "quantized::conv2d_prepack",
              {Value(weight), Value(bias), ints(layer.stride), ints(layer.padding),
               ints(layer.dilation), Value(layer.groups)});
}

}  // namespace torchlet::quant
