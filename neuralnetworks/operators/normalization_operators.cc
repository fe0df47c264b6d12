// Normalisations and reductions that PyTorch has not.
#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "base/thread_pool.h"
#include "ops/core/common.h"
#include "ops/core/op.h"
#include "ops/engines/reduce.h"

namespace torchlet::ops {
namespace {

// x / (bias + alpha * sum of x^2 within `radius` along the axis)^beta of float32.
Tensor local_response_normalization(const Tensor& self, int64_t radius, double bias, double alpha,
                                    double beta, int64_t axis) {
  TORCHLET_CHECK(self.dtype() == DType::kFloat32 && radius >= 0,
                 "local response normalization of %s with radius %lld", self.describe().c_str(),
                 static_cast<long long>(radius));
  axis = wrap_dim(axis, self.dim());
  const Tensor x = self.contiguous();
  Tensor result = empty(x.sizes(), DType::kFloat32);
  const int64_t size = x.size(axis);
  if (x.numel() == 0) return result;
  const int64_t step = contiguous_strides(x.sizes())[static_cast<size_t>(axis)];
  const int64_t reach = std::min(radius, size);
  parallel_for(x.numel() / size, 64, [&](int64_t first, int64_t last) {
    for (int64_t line = first; line < last; ++line) {
      poll();
      const int64_t start = line / step * step * size + line % step;
      const float* from = x.data_ptr<float>() + start;
      float* to = result.data_ptr<float>() + start;
      for (int64_t i = 0; i < size; ++i) {
        double sum = 0;
        const int64_t end = std::min(size, i + reach + 1);
        for (int64_t j = std::max<int64_t>(0, i - reach); j < end; ++j) {
          sum += double{from[j * step]} * double{from[j * step]};
        }
        to[i * step] =
            static_cast<float>(double{from[i * step]} * std::pow(bias + alpha * sum, -beta));
      }
    }
  });
  return result;
}

// Of a tensor of int32: wrapped, sorted, each once.
IntArray axes(const Tensor& given, const Tensor& self) {
  TORCHLET_CHECK(given.dtype() == DType::kInt32 && given.numel() > 0,
                 "the axes to reduce are %s; name at least one", given.describe().c_str());
  const Tensor numbers = given.contiguous();
  std::vector<bool> is_reduced(static_cast<size_t>(self.dim()));
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    is_reduced[static_cast<size_t>(wrap_dim(numbers.data_ptr<int32_t>()[i], self.dim()))] = true;
  }
  IntArray result;
  for (size_t d = 0; d < is_reduced.size(); ++d) {
    if (is_reduced[d]) result.push_back(static_cast<int64_t>(d));
  }
  return result;
}

Tensor prod(const Tensor& self, const IntArray& dims, bool keepdim) {
  return reduce<float>(self, dims, keepdim, DType::kFloat32, [](const float* run, int64_t count) {
    double product = 1;
    for (int64_t i = 0; i < count; ++i) product *= run[i];
    return static_cast<float>(product);
  });
}

}  // namespace

TORCHLET_OP(nnapi_local_response_normalization,
            "nnapi::local_response_normalization(Tensor self, int radius, float bias, float alpha, "
            "float beta, int axis) -> Tensor",
            local_response_normalization);
TORCHLET_OP(nnapi_axes, "nnapi::axes(Tensor axes, Tensor self) -> int[]", axes);
TORCHLET_OP(nnapi_prod, "nnapi::prod(Tensor self, int[] dim, bool keepdim) -> Tensor", prod);

}  // namespace torchlet::ops
