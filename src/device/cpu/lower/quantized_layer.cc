#include "device/cpu/lower/quantized_layer.h"

#include <algorithm>

#include "kernels/quantized/linear_dynamic_q8.h"
#include "ops/engines/quantize.h"

namespace torchlet::cpu {

QuantizedLayer::QuantizedLayer(const Tensor& weight, const Tensor& bias)
    : weight_(weight.contiguous()) {
  const size_t channels = static_cast<size_t>(weight.size(0));
  if (weight.dtype() != DType::kQInt8 || !weight.impl()->quantizer) decline("no qint8 weights");
  const Quantizer& quantizer = *weight.impl()->quantizer;
  if (quantizer.per_tensor()) {
    scales_.assign(channels, static_cast<float>(quantizer.scale));
    zero_points_.assign(channels, static_cast<int32_t>(quantizer.zero_point));
  } else {
    if (quantizer.axis != 0) decline("scales along another axis");
    const Tensor scales = quantizer.scales.to(DType::kFloat32).contiguous();
    const Tensor zeros = quantizer.zero_points.to(DType::kInt32).contiguous();
    if (static_cast<size_t>(scales.numel()) != channels ||
        static_cast<size_t>(zeros.numel()) != channels) {
      decline("scales for other channels");
    }
    scales_.assign(scales.data_ptr<float>(), scales.data_ptr<float>() + channels);
    zero_points_.assign(zeros.data_ptr<int32_t>(), zeros.data_ptr<int32_t>() + channels);
  }
  for (const int32_t zero : zero_points_) {
    if (zero < -128 || zero > 127) decline("an unusual zero point");
  }
  if (bias.defined()) {
    if (bias.numel() != weight.size(0)) decline("an unusual bias");
    bias_ = bias.to(DType::kFloat32).contiguous();
  }
  layer_.weight = static_cast<const int8_t*>(weight_.raw_data());
  layer_.weight_scales = scales_.data();
  layer_.weight_zero_points = zero_points_.data();
  layer_.bias = bias.defined() ? bias_.data_ptr<float>() : nullptr;
}

static void fill_dynamic_linear(void* to, const Tensor& weight, const Tensor& bias) {
  const QuantizedLayer layer(weight, bias);
  kernels::linear_dynamic_q8_pack(weight.size(1), weight.size(0), *layer, to);
}

DynamicLinear keep_dynamic_linear(PlanBuilder& plan, const Tensor& weight, const Tensor& bias) {
  constexpr int64_t kMostTerms = 33000;  // that an int32 holds the sum of
  if (!weight.is_quantized() || weight.dim() != 2 || weight.numel() == 0 ||
      weight.size(1) > kMostTerms) {
    decline("unusual weights");
  }
  const int64_t in = weight.size(1), out = weight.size(0);
  const QuantizedLayer layer(weight, bias);  // or Declined
  const size_t nbytes = kernels::linear_dynamic_q8_packed_bytes(in, out);
  return {in, out, plan.packed(nbytes, fill_dynamic_linear, weight, bias)};
}

void run_dynamic_linear(const DynamicLinear& linear, int64_t rows, const float* x, int64_t x_stride,
                        float low, float high, float* y, int64_t y_stride, uint8_t* work) {
  const kernels::RangeF32 range = kernels::range_rows_f32(rows, linear.in, x, x_stride);
  const ops::QParams qparams = ops::choose_qparams(range.low, range.high, DType::kQUInt8);
  // What an infinite range gives is no zero point.
  const int64_t zero = std::clamp<int64_t>(qparams.zero_point, 0, 255);
  const kernels::AffineQ8 affine{static_cast<float>(qparams.scale), static_cast<uint8_t>(zero)};
  kernels::linear_dynamic_q8({rows, linear.in, linear.out, x, x_stride, affine, linear.packed, low,
                              high, y, y_stride, work});
}

}  // namespace torchlet::cpu
