// Convolution over one to three spatial dimensions, plain and transposed.
#pragma once

#include "ops/core/common.h"

namespace torchlet::ops {

struct ConvParams {
  IntArray stride, padding, dilation;  // one per spatial dimension
  bool transposed = false;
  IntArray output_padding;  // one per spatial dimension if transposed
  int64_t groups = 1;
};

// input [N, C, spatial...], weight [O, C / groups, kernel...] (transposed: [C, O / groups,
// kernel...]), bias [O] or undefined -> [N, O, spatial...]. Lists in `params` may hold one value
// that stands for all dimensions.
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   ConvParams params);
// The same, also for an input without N; `spatial` is 1, 2 or 3.
Tensor convolution_nd(int64_t spatial, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, ConvParams params);
// padding = "valid", or "same": the output has the spatial size of the input (stride 1 only).
Tensor convolution_mode(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        IntSpan stride, const std::string& padding, IntSpan dilation,
                        int64_t groups);

}  // namespace torchlet::ops
