// Real numbers <-> quantized tensors, per tensor and per channel.
#pragma once

#include "ops/core/common.h"

namespace torchlet::ops {

// float32 of the same shape and layout: (q - zero_point) * scale.
Tensor dequantize(const Tensor& self);
// round(value / scale) + zero_point, clamped to the range of `dtype` (kQUInt8, kQInt8, kQInt32), as
// at::native::quantize_val: the scale is inverted first, halves round to even. `self` is converted
// to float32.
Tensor quantize(const Tensor& self, DType dtype, std::shared_ptr<const Quantizer> quantizer);

struct QParams {
  double scale;
  int64_t zero_point;
};
// Scale and zero point for the range of the values, as dynamic quantization picks them
// (quant_utils.h ChooseQuantizationParams): zero is exact. There is no reduce_range, which leaves
// out a bit for old x86 instructions: QNNPACK ignores it.
QParams choose_qparams(const Tensor& self, DType dtype);
// Those of values in [low, high], low <= 0 <= high.
QParams choose_qparams(float low, float high, DType dtype);

// Spreads all steps of the dtype over [low, high), which holds 0: the fixed output quantization of
// PyTorch's quantized sigmoid [0, 1) and tanh [-1, 1).
Tensor quantize_unit(const Tensor& self, DType dtype, double low, double high);
// f of the real numbers, quantized as `self` is.
template <typename F>
Tensor map_quantized(const Tensor& self, F f) {
  return quantize(f(dequantize(self)), self.dtype(), self.impl()->quantizer);
}

}  // namespace torchlet::ops
