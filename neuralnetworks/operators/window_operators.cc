#include "neuralnetworks/operators/window_operators.h"

#include <algorithm>

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

}  // namespace torchlet::nn

namespace torchlet::ops {

TORCHLET_OP_WITH(
    nnapi_same_padding, on_meta(),
    "nnapi::same_padding(int size, int window, int stride, int dilation) -> (int before, "
    "int after)",
    [](int64_t size, int64_t window, int64_t stride, int64_t dilation) {
      const auto [before, after] = nn::same_padding(size, window, stride, dilation);
      return std::make_tuple(before, after);
    });

}  // namespace torchlet::ops
