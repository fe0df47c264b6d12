// Quantized operators that compute on real numbers and quantize the result: every one is exact up
// to the rounding of its output, which is also PyTorch's (fbgemm) contract.
#pragma once

#include "ops/engines/elementwise.h"
#include "ops/engines/quantize.h"

namespace torchlet::ops {

inline Tensor quantize_like(const Tensor& real, const Tensor& like, double scale,
                            int64_t zero_point) {
  return quantize(real, like.dtype(), per_tensor_quantizer(scale, zero_point));
}

template <typename F>
Tensor map_quantized(const Tensor& qx, double scale, int64_t zero_point, F f) {
  return quantize_like(map<kMapReal, 1>({dequantize(qx)}, DType::kFloat32, f), qx, scale,
                       zero_point);
}

}  // namespace torchlet::ops
