#include "ops/packed_params.h"

#include <algorithm>

#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/quantize.h"

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

Tensor scaled(const Tensor& sums, const Tensor& scales, int64_t axis, double input_scale,
              const Tensor& bias) {
  const Tensor factors = map<kMapReal, 1>({scales}, DType::kFloat32, [input_scale](auto s) {
    return s * static_cast<decltype(s)>(input_scale);
  });
  const Tensor factor = along(factors, sums.dim(), axis);
  if (!bias.defined()) {
    return map<kMapReal, 2>({sums, factor}, DType::kFloat32, [](auto a, auto f) { return a * f; });
  }
  return map<kMapReal, 3>({sums, factor, along(bias, sums.dim(), axis)}, DType::kFloat32,
                          [](auto a, auto f, auto b) { return a * f + b; });
}

// x as dynamic quantization sees it: quantized by its own range.
Tensor quantize_dynamically(const Tensor& x, bool reduce_range) {
  const QParams qparams = choose_qparams(x, DType::kQUInt8, reduce_range);
  return quantize(x, DType::kQUInt8, per_tensor_quantizer(qparams.scale, qparams.zero_point));
}

Tensor checked_bias(Tensor bias) {
  if (!bias.defined()) return bias;
  if (bias.is_quantized()) bias = dequantize(bias);
  return bias.to(DType::kFloat32).contiguous();
}

}  // namespace

Tensor centred(const Tensor& quantized) {
  const Quantizer& quantizer = *quantized.impl()->quantizer;
  const Tensor result = empty_like(quantized, DType::kFloat32);
  result.copy_(quantized);  // the integers
  const Tensor zero =
      quantizer.per_tensor()
          ? full({}, Scalar(quantizer.zero_point), DType::kFloat32)
          : along(quantizer.zero_points.to(DType::kFloat32), quantized.dim(), quantizer.axis);
  return map<kMapReal, 2>({result, zero}, DType::kFloat32, [](auto q, auto z) { return q - z; });
}

QuantizedWeight::QuantizedWeight(const Tensor& quantized, int64_t channel_axis)
    : original(quantized), centred(ops::centred(quantized).contiguous()) {
  const Quantizer& quantizer = *quantized.impl()->quantizer;
  TORCHLET_CHECK(
      quantizer.per_tensor() || quantizer.axis == channel_axis,
      "a packed weight must be quantized along its output channels (axis %lld), not %lld",
      static_cast<long long>(channel_axis), static_cast<long long>(quantizer.axis));
  scales = quantizer.per_tensor() ? full(IntArray{1}, Scalar(quantizer.scale), DType::kFloat32)
                                  : quantizer.scales.to(DType::kFloat32).contiguous();
}

LinearPackedParams::LinearPackedParams(const Tensor& weight, Tensor bias)
    : bias_(checked_bias(std::move(bias))) {
  TORCHLET_CHECK(weight.dim() == 2,
                 "the weight of a packed linear must have 2 dimensions, not %lld",
                 static_cast<long long>(weight.dim()));
  if (weight.is_quantized()) {
    weight_.emplace(weight, 0);
  } else {
    float_weight_ = weight.to(DType::kFloat32).contiguous();
  }
  TORCHLET_CHECK(!bias_.defined() || bias_.numel() == weight.size(0),
                 "bias of %lld elements for %lld output features",
                 static_cast<long long>(bias_.numel()), static_cast<long long>(weight.size(0)));
}

Tensor LinearPackedParams::apply(const Tensor& x, double scale, int64_t zero_point,
                                 bool relu) const {
  TORCHLET_CHECK(x.is_quantized() && weight_,
                 "quantized::linear needs a quantized input and weight, got %s",
                 x.describe().c_str());
  const Tensor sums = linear(centred(x), weight_->centred, Tensor());
  Tensor real = scaled(sums, weight_->scales, sums.dim() - 1, x.q_scale(), bias_);
  if (relu) real = relu_of(real);
  return quantize(real, x.dtype(), per_tensor_quantizer(scale, zero_point));
}

Tensor LinearPackedParams::apply_dynamic(const Tensor& x, bool reduce_range, bool relu) const {
  Tensor real;
  if (is_float()) {
    real = linear(x.to(DType::kFloat32), float_weight_, bias_);
  } else {
    const Tensor qx = quantize_dynamically(x, reduce_range);
    const Tensor sums = linear(centred(qx), weight_->centred, Tensor());
    real = scaled(sums, weight_->scales, sums.dim() - 1, qx.q_scale(), bias_);
  }
  return relu ? relu_of(real) : real;
}

std::pair<Tensor, Tensor> LinearPackedParams::unpack() const {
  return {is_float() ? float_weight_ : weight_->original, bias_};
}

ConvPackedParams::ConvPackedParams(int64_t spatial, const Tensor& weight, Tensor bias,
                                   ConvParams params)
    : spatial_(spatial),
      weight_(weight, params.transposed ? 1 : 0),
      bias_(checked_bias(std::move(bias))),
      params_(std::move(params)) {
  TORCHLET_CHECK(weight.dim() == spatial + 2,
                 "the weight of a packed conv%lldd must have %lld dimensions, not %lld",
                 static_cast<long long>(spatial), static_cast<long long>(spatial + 2),
                 static_cast<long long>(weight.dim()));
}

Tensor ConvPackedParams::real_output(const Tensor& input, double input_scale) const {
  const Tensor sums = convolution(input, weight_.centred, Tensor(), params_);
  return scaled(sums, weight_.scales, 1, input_scale, bias_);
}

Tensor ConvPackedParams::apply(const Tensor& x, double scale, int64_t zero_point, bool relu) const {
  TORCHLET_CHECK(x.is_quantized(), "quantized convolution needs a quantized input, got %s",
                 x.describe().c_str());
  Tensor real = real_output(centred(x), x.q_scale());
  if (relu) real = relu_of(real);
  return quantize(real, x.dtype(), per_tensor_quantizer(scale, zero_point));
}

Tensor ConvPackedParams::apply_dynamic(const Tensor& x, bool reduce_range) const {
  const Tensor qx = quantize_dynamically(x, reduce_range);
  return real_output(centred(qx), qx.q_scale());
}

}  // namespace torchlet::ops
