#pragma once

// What the tests of the convolutions share.

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/spatial/window.h"
#include "kernels/spatial/window_size.h"

namespace torchlet::kernels {

// Small integers: every sum is exact, so the answers can be compared for equality.
inline std::vector<float> random_data(int64_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> values(-4, 4);
  std::vector<float> data(static_cast<size_t>(size));
  for (float& x : data) x = static_cast<float>(values(engine));
  return data;
}

inline Window2dShape make_window(int64_t h, int64_t w, int64_t kernel_h, int64_t kernel_w,
                                 int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1) {
  return {.in_h = h,
          .in_w = w,
          .out_h = sliding_output_size(h, kernel_h, stride, pad, dilation),
          .out_w = sliding_output_size(w, kernel_w, stride, pad, dilation),
          .kernel_h = kernel_h,
          .kernel_w = kernel_w,
          .stride_h = stride,
          .stride_w = stride,
          .pad_h = pad,
          .pad_w = pad,
          .dilation_h = dilation,
          .dilation_w = dilation};
}

}  // namespace torchlet::kernels
