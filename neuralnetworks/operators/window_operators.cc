#include "neuralnetworks/operators/window_operators.h"

#include <algorithm>

#include "base/checked.h"
#include "base/limits.h"
#include "base/thread_pool.h"
#include "ops/core/common.h"
#include "ops/core/op.h"

namespace torchlet::nn {

std::pair<int64_t, int64_t> same_padding(int64_t size, int64_t window, int64_t stride,
                                         int64_t dilation) {
  TORCHLET_CHECK(size >= 0 && window > 0 && stride > 0 && dilation > 0 && size < INT32_MAX &&
                     window < INT32_MAX && stride < INT32_MAX && dilation < INT32_MAX,
                 "padding for %lld elements, a window of %lld, stride %lld and dilation %lld",
                 static_cast<long long>(size), static_cast<long long>(window),
                 static_cast<long long>(stride), static_cast<long long>(dilation));
  const int64_t steps = (size + stride - 1) / stride;
  const int64_t reach = (window - 1) * dilation + 1;
  const int64_t missing = std::max<int64_t>(0, (steps - 1) * stride + reach - size);
  return {missing / 2, missing - missing / 2};
}

std::pair<int64_t, int64_t> transposed_same_padding(int64_t size, int64_t window, int64_t stride) {
  const auto [before, after] = same_padding(size, window, stride, 1);
  const int64_t end = (size + stride - 1) / stride * stride - stride + window;
  return {before, end - size - before};
}

}  // namespace torchlet::nn

namespace torchlet::ops {
namespace {

// [begin, end) of the elements of a line that window `i` covers.
std::pair<int64_t, int64_t> covered(int64_t i, int64_t size, int64_t window, int64_t stride,
                                    int64_t before) {
  const int64_t begin = i * stride - before;
  return {std::max<int64_t>(0, begin), std::min(size, begin + window)};
}

int64_t windows_in(int64_t size, int64_t before, int64_t after, int64_t window, int64_t stride) {
  const int64_t padded = checked_add(checked_add(size, before), after);
  TORCHLET_CHECK(window > 0 && stride > 0 && before >= 0 && after >= 0 && padded >= window,
                 "no window of %lld fits into %lld elements, padded by %lld and %lld",
                 static_cast<long long>(window), static_cast<long long>(size),
                 static_cast<long long>(before), static_cast<long long>(after));
  return (padded - window) / stride + 1;
}

// float32 [N, C, H, W] -> averages of what the windows cover, and 0 if that is nothing. `padding`
// is left, right, top, bottom.
Tensor average_pool2d(const Tensor& self, const IntArray& window, const IntArray& stride,
                      const IntArray& padding) {
  TORCHLET_CHECK(self.dim() == 4 && self.dtype() == DType::kFloat32 && window.size() == 2 &&
                     stride.size() == 2 && padding.size() == 4,
                 "averages of windows of %s", self.describe().c_str());
  const int64_t height = self.size(2), width = self.size(3);
  const int64_t rows = windows_in(height, padding[2], padding[3], window[0], stride[0]);
  const int64_t columns = windows_in(width, padding[0], padding[1], window[1], stride[1]);
  const Tensor image = self.contiguous();
  Tensor result = empty(IntArray{self.size(0), self.size(1), rows, columns}, DType::kFloat32);
  parallel_for(self.size(0) * self.size(1), 1, [&](int64_t first, int64_t last) {
    for (int64_t plane = first; plane < last; ++plane) {
      poll();
      const float* from = image.data_ptr<float>() + plane * height * width;
      float* to = result.data_ptr<float>() + plane * rows * columns;
      for (int64_t i = 0; i < rows * columns; ++i) {
        const auto [top, bottom] = covered(i / columns, height, window[0], stride[0], padding[2]);
        const auto [left, right] = covered(i % columns, width, window[1], stride[1], padding[0]);
        float sum = 0;
        for (int64_t y = top; y < bottom; ++y) {
          for (int64_t x = left; x < right; ++x) sum += from[y * width + x];
        }
        const bool is_empty = top >= bottom || left >= right;
        to[i] = is_empty ? 0 : sum / static_cast<float>((bottom - top) * (right - left));
      }
    }
  });
  return result;
}

}  // namespace

TORCHLET_OP_WITH(
    nnapi_same_padding, on_meta(),
    "nnapi::same_padding(int size, int window, int stride, int dilation) -> (int before, "
    "int after)",
    [](int64_t size, int64_t window, int64_t stride, int64_t dilation) {
      const auto [before, after] = nn::same_padding(size, window, stride, dilation);
      return std::make_tuple(before, after);
    });

TORCHLET_OP(
    nnapi_transposed_same_padding,
    "nnapi::transposed_same_padding(Tensor output_shape, int axis, int window, int stride) -> (int "
    "before, int after)",
    [](const Tensor& output_shape, int64_t axis, int64_t window, int64_t stride) {
      TORCHLET_CHECK(output_shape.numel() == 4 && output_shape.dtype() == DType::kInt32,
                     "output_shape is %s", output_shape.describe().c_str());
      const Tensor sizes = output_shape.contiguous();
      const auto [before, after] =
          nn::transposed_same_padding(sizes.data_ptr<int32_t>()[axis], window, stride);
      return std::make_tuple(before, after);
    });
TORCHLET_OP(nnapi_average_pool2d,
            "nnapi::average_pool2d(Tensor self, int[2] window, int[2] stride, int[4] padding) -> "
            "Tensor",
            average_pool2d);

}  // namespace torchlet::ops
