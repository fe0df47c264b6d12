#pragma once

#include <cstdint>

namespace torchlet::kernels {

// A window that slides over one plane [in_h, in_w] and makes one of [out_h, out_w]. Output pixel
// (y, x) reads the input at (y * stride_h - pad_h + i * dilation_h, x * stride_w - pad_w + j *
// dilation_w). The padding below and to the right is whatever out_h and out_w ask for.
struct Window2dShape {
  int64_t in_h, in_w;
  int64_t out_h, out_w;
  int64_t kernel_h, kernel_w;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_h = 0, pad_w = 0;
  int64_t dilation_h = 1, dilation_w = 1;
};

}  // namespace torchlet::kernels
