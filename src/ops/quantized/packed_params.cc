#include "ops/quantized/packed_params.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "ops/engines/elementwise.h"
#include "ops/engines/matmul.h"
#include "ops/engines/quantize.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

// [C] seen along `axis` of a tensor of `rank` dimensions.
Tensor along(const Tensor& values, int64_t rank, int64_t axis) {
  IntArray shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = values.numel();
  return view(values, shape);
}

Tensor relu_of(const Tensor& x) {
  return map<kMapReal, 1>({x}, DType::kFloat32, [](auto v) { return std::max(v, decltype(v)(0)); });
}

Tensor times(const Tensor& scales, float factor) {
  return map<kMapReal, 1>({scales}, DType::kFloat32,
                          [factor](auto s) { return s * static_cast<decltype(s)>(factor); });
}

// Adds the bias as an integer of the sums' scale. Both ways of computing the sums stay exact.
Tensor with_bias(const Tensor& sums, const Tensor& bias, const Tensor& sum_scales, int64_t axis) {
  if (!bias.defined()) return sums;
  const Tensor rounded = map<kMapReal, 2>({bias, sum_scales}, DType::kFloat32, [](auto b, auto s) {
    return std::nearbyint(b * (1 / s));
  });
  if (is_meta(rounded)) return sums;
  const std::span<const float> values(rounded.data_ptr<float>(),
                                      static_cast<size_t>(rounded.numel()));
  const bool fits = std::ranges::all_of(values, [](float b) { return std::fabs(b) < 0x1p30f; });
  if (fits) {
    return map<kMapReal, 2>({sums, along(rounded, sums.dim(), axis)}, sums.dtype(),
                            [](auto a, auto b) { return a + b; });
  }
  // A channel whose weights are nearly zero has a tiny scale: its bias saturates the int32, and the
  // sum wraps around.
  static constexpr double kLow = -0x1p31, kHigh = 0x1p31 - 1;
  return map<kMapReal, 2>(
      {sums, along(rounded, sums.dim(), axis)}, DType::kFloat64, [](auto a, auto b) {
        const double total =
            static_cast<double>(a) + std::clamp(static_cast<double>(b), kLow, kHigh);
        return total > kHigh ? total - 0x1p32 : total < kLow ? total + 0x1p32 : total;
      });
}

// Sums -> integers of the output.
Tensor requantize(const Tensor& sums, const Tensor& scales, int64_t axis, DType dtype, double scale,
                  int64_t zero_point, bool relu) {
  // Multiplying by the inverse, as QNNPACK does, rounds otherwise than dividing.
  const Tensor multipliers = times(scales, 1.0f / static_cast<float>(scale));
  const bool is_signed = dtype == DType::kQInt8;
  const float low = relu ? static_cast<float>(zero_point) : is_signed ? -128.0f : 0.0f;
  const float high = is_signed ? 127.0f : 255.0f;
  const float zero = static_cast<float>(zero_point);
  const Tensor integers =
      map<kMapReal, 2>({sums.to(DType::kFloat32), along(multipliers, sums.dim(), axis)},
                       DType::kFloat32, [=](auto sum, auto multiplier) {
                         using T = decltype(sum);
                         const T q = std::nearbyint(sum * multiplier) + static_cast<T>(zero);
                         return std::min(std::max(q, static_cast<T>(low)), static_cast<T>(high));
                       });
  const Tensor result = empty_like(integers, dtype);
  result.copy_(integers);
  result.impl()->quantizer = per_tensor_quantizer(scale, zero_point);
  return result;
}

// Sums -> real numbers, for dynamic quantization: the bias stays a float.
Tensor real_from_sums(const Tensor& sums, const Tensor& scales, int64_t axis, const Tensor& bias) {
  const Tensor factor = along(scales, sums.dim(), axis);
  const Tensor in = sums.to(DType::kFloat32);
  if (!bias.defined()) {
    return map<kMapReal, 2>({in, factor}, DType::kFloat32, [](auto a, auto f) { return a * f; });
  }
  return map<kMapReal, 3>({in, factor, along(bias, sums.dim(), axis)}, DType::kFloat32,
                          [](auto a, auto f, auto b) { return a * f + b; });
}

// x as dynamic quantization sees it: quantized by its own range, which a meta tensor lacks.
Tensor quantize_dynamically(const Tensor& x) {
  const QParams qparams =
      is_meta(x) ? QParams{.scale = 1, .zero_point = 0} : choose_qparams(x, DType::kQUInt8);
  return quantize(x, DType::kQUInt8, per_tensor_quantizer(qparams.scale, qparams.zero_point));
}

Tensor checked_bias(Tensor bias) {
  if (!bias.defined()) return bias;
  if (bias.is_quantized()) bias = dequantize(bias);
  return bias.to(DType::kFloat32).contiguous();
}

float scale_of(const Tensor& x) { return static_cast<float>(x.q_scale()); }

void check_quantized(const Tensor& x, const char* what) {
  TORCHLET_CHECK(x.is_quantized(), "%s needs a quantized input, got %s", what,
                 x.describe().c_str());
}

// More products of quint8 and int8 than these may leave the integers that a float32 holds.
constexpr int64_t kExactTerms = (1 << 24) / (255 * 128);

// Of a weight that is quantized as a whole or along `channel_axis`.
Tensor scales_of(const Tensor& weight, int64_t channel_axis) {
  TORCHLET_CHECK(weight.is_quantized(), "a packed weight must be quantized, got %s",
                 weight.describe().c_str());
  const Quantizer& quantizer = *weight.impl()->quantizer;
  if (quantizer.per_tensor()) return full(IntArray{1}, Scalar(quantizer.scale), DType::kFloat32);
  TORCHLET_CHECK(
      quantizer.axis == channel_axis,
      "a packed weight must be quantized along its output channels (axis %lld), not %lld",
      static_cast<long long>(channel_axis), static_cast<long long>(quantizer.axis));
  return quantizer.scales.to(DType::kFloat32).contiguous();
}

// Products of one output of a convolution.
int64_t terms_of(const Tensor& weight, const ConvParams& params) {
  const int64_t outputs = weight.size(params.transposed ? 1 : 0);  // of a group, if transposed
  return outputs == 0 ? 0 : weight.numel() / outputs;
}

}  // namespace

Tensor centred(const Tensor& quantized, DType dtype) {
  const Quantizer& quantizer = *quantized.impl()->quantizer;
  const Tensor integers = empty_like(quantized, dtype);
  integers.copy_(quantized);
  const Tensor zero = quantizer.per_tensor()
                          ? full({}, Scalar(quantizer.zero_point), dtype)
                          : along(quantizer.zero_points.to(dtype), quantized.dim(), quantizer.axis);
  return map<kMapReal, 2>({integers, zero}, dtype, [](auto q, auto z) { return q - z; });
}

QuantizedWeight::QuantizedWeight(const Tensor& quantized, int64_t channel_axis, int64_t terms)
    : original(quantized),
      scales(scales_of(quantized, channel_axis)),
      dtype(terms <= kExactTerms ? DType::kFloat32 : DType::kFloat64) {}

Tensor QuantizedWeight::centred_beside(const Tensor& x) const {
  if (is_meta(x)) {
    const MetaScope meta;
    return empty(original.sizes(), dtype);
  }
  std::call_once(is_made_, [this] {
    const MetaScope has_memory(false);
    centred_ = centred(original, dtype).contiguous();
  });
  return centred_;
}

LinearPackedParams::LinearPackedParams(const Tensor& weight, Tensor bias)
    : bias_(checked_bias(std::move(bias))) {
  TORCHLET_CHECK(weight.dim() == 2,
                 "the weight of a packed linear must have 2 dimensions, not %lld",
                 static_cast<long long>(weight.dim()));
  if (weight.is_quantized()) {
    weight_.emplace(weight, 0, weight.size(1));
  } else {
    float_weight_ = weight.to(DType::kFloat32).contiguous();
  }
  TORCHLET_CHECK(!bias_.defined() || bias_.numel() == weight.size(0),
                 "bias of %lld elements for %lld output features",
                 static_cast<long long>(bias_.numel()), static_cast<long long>(weight.size(0)));
}

Tensor LinearPackedParams::apply(const Tensor& x, double scale, int64_t zero_point,
                                 bool relu) const {
  check_quantized(x, "quantized::linear");
  TORCHLET_CHECK(weight_, "quantized::linear needs a weight that is quantized, not fp16");
  const Tensor sums = linear(centred(x, weight_->dtype), weight_->centred_beside(x), Tensor());
  const Tensor scales = times(weight_->scales, scale_of(x));
  return requantize(with_bias(sums, bias_, scales, sums.dim() - 1), scales, sums.dim() - 1,
                    x.dtype(), scale, zero_point, relu);
}

Tensor LinearPackedParams::apply_dynamic(const Tensor& x, bool relu) const {
  Tensor real;
  if (is_float()) {
    real = linear(x.to(DType::kFloat32), float_weight_, bias_);
  } else {
    const Tensor qx = quantize_dynamically(x);
    const Tensor sums = linear(centred(qx, weight_->dtype), weight_->centred_beside(qx), Tensor());
    real = real_from_sums(sums, times(weight_->scales, scale_of(qx)), sums.dim() - 1, bias_);
  }
  return relu ? relu_of(real) : real;
}

std::pair<Tensor, Tensor> LinearPackedParams::unpack() const {
  return {is_float() ? float_weight_ : weight_->original, bias_};
}

ConvPackedParams::ConvPackedParams(int64_t spatial, const Tensor& weight, Tensor bias,
                                   ConvParams params)
    : spatial_(spatial),
      weight_(weight, params.transposed ? 1 : 0, terms_of(weight, params)),
      bias_(checked_bias(std::move(bias))),
      params_(std::move(params)) {
  TORCHLET_CHECK(weight.dim() == spatial + 2,
                 "the weight of a packed conv%lldd must have %lld dimensions, not %lld",
                 static_cast<long long>(spatial), static_cast<long long>(spatial + 2),
                 static_cast<long long>(weight.dim()));
}

Tensor ConvPackedParams::sums(const Tensor& x) const {
  return convolution(centred(x, weight_.dtype), weight_.centred_beside(x), Tensor(), params_);
}

Tensor ConvPackedParams::apply(const Tensor& x, double scale, int64_t zero_point, bool relu) const {
  check_quantized(x, "a quantized convolution");
  const Tensor scales = times(weight_.scales, scale_of(x));
  return requantize(with_bias(sums(x), bias_, scales, 1), scales, 1, x.dtype(), scale, zero_point,
                    relu);
}

Tensor ConvPackedParams::apply_dynamic(const Tensor& x) const {
  const Tensor qx = quantize_dynamically(x);
  return real_from_sums(sums(qx), times(weight_.scales, scale_of(qx)), 1, bias_);
}

}  // namespace torchlet::ops
