#include "ops/engines/fold/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/engines/compute.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops::folding {

using kernels::Fold;

bool is_sum(Fold fold) {
  return fold != Fold::kProduct && fold != Fold::kMax && fold != Fold::kMin;
}

Fold fold_of_results(Fold fold) { return is_sum(fold) ? Fold::kSum : fold; }

double identity(Fold fold) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return fold == Fold::kProduct ? 1
         : fold == Fold::kMax   ? -kInfinity
         : fold == Fold::kMin   ? kInfinity
                                : 0;
}

Numbers::Numbers(DType compute) {
  switch (compute_kind(compute)) {
    case Compute::kInt:
      type = kernels::FoldType::kInt64;
      dtype = DType::kInt64;
      break;
    case Compute::kFloat:
      type = kernels::FoldType::kFloat32;
      dtype = DType::kFloat32;
      break;
    case Compute::kDouble:
      type = kernels::FoldType::kFloat64;
      dtype = DType::kFloat64;
      break;
    default:
      detail::fail_not_implemented(compute);
  }
  width = static_cast<int64_t>(element_size(dtype));
}

void Numbers::fill(std::byte* to, int64_t count, double value) const {
  if (value == 0) {
    std::memset(to, 0, static_cast<size_t>(count * width));
  } else if (dtype == DType::kFloat32) {
    std::fill_n(reinterpret_cast<float*>(to), count, static_cast<float>(value));
  } else if (dtype == DType::kFloat64) {
    std::fill_n(reinterpret_cast<double*>(to), count, value);
  } else {
    using Limits = std::numeric_limits<int64_t>;
    std::fill_n(reinterpret_cast<int64_t*>(to), count,
                std::isfinite(value) ? static_cast<int64_t>(value)
                : value < 0          ? Limits::min()
                                     : Limits::max());
  }
}

void Numbers::copy(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride,
                   int64_t count) const {
  convert_elements(from, dtype, from_stride, to, dtype, to_stride, count);
}

void fold_anew(Fold fold, const Numbers& numbers, kernels::FoldRows m, std::byte* into) {
  if (fold_of_results(fold) == fold && m.rows > 1) {
    m.first = m.x;
    m.x = static_cast<const std::byte*>(m.x) + m.stride * numbers.width;
    --m.rows;
  } else {
    for (int64_t i = 0; i < m.matrices; ++i) {
      numbers.fill(into + i * m.into_stride * numbers.width, m.cols, identity(fold));
    }
  }
  kernels::fold_rows(fold, m, into);
}

}  // namespace torchlet::ops::folding
