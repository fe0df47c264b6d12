// Distances and similarities between vectors.
#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/matmul.h"
#include "ops/loss/loss.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

// The sum of f(|a[i] - b[i]|), in several independent chains.
template <typename T, typename F>
T sum_of_differences(const T* a, const T* b, int64_t count, F f) {
  constexpr int64_t kLanes = 8;
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += f(std::abs(a[i + lane] - b[i + lane]));
    }
  }
  T total = 0;
  for (; i < count; ++i) total += f(std::abs(a[i] - b[i]));
  for (T lane : lanes) total += lane;
  return total;
}

// The p-norm of a - b.
template <typename T>
T distance(const T* a, const T* b, int64_t count, double p) {
  if (p == 2) return std::sqrt(sum_of_differences(a, b, count, [](T d) { return d * d; }));
  if (p == 1) return sum_of_differences(a, b, count, [](T d) { return d; });
  if (p == 0) return sum_of_differences(a, b, count, [](T d) { return d != 0 ? T(1) : T(0); });
  if (std::isinf(p)) {
    T most = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T d = std::abs(a[i] - b[i]);
      if (d > most || std::isnan(d)) most = d;
    }
    return most;
  }
  const T power = static_cast<T>(p);
  const T total = sum_of_differences(a, b, count, [power](T d) { return std::pow(d, power); });
  return std::pow(total, 1 / power);
}

// The Euclidean distances of rows by products, as PyTorch finds those of many rows.
Tensor distances_by_products(const Tensor& a, const Tensor& b) {
  const auto square = [](const Tensor& x) { return sum(mul(x, x), {{-1}}, true); };
  const Tensor squares1 = square(a), squares2 = square(b);
  const auto ones = [](const Tensor& x) { return full(x.sizes(), Scalar(1), x.dtype()); };
  const Tensor left = cat({mul(a, Scalar(-2)), squares1, ones(squares1)}, -1);
  const Tensor right = cat({b, ones(squares2), squares2}, -1);
  return map<kMapReal | kMapSteps, 1>({matmul(left, transpose(right, -2, -1))}, a.dtype(),
                                      [](auto x) {
                                        using T = decltype(x);
                                        return std::sqrt(choose(x < T(0), T(0), x));  // or NaN
                                      });
}

// The Euclidean distances of `rows` rows of few columns from others: of one row from many at once.
template <typename T>
void distances_by_columns(const T* a, int64_t rows, const T* b, int64_t others, int64_t columns,
                          T* out) {
  constexpr int64_t kStep = detail::kStep;
  const int64_t width = (others + kStep - 1) / kStep * kStep;
  const kernels::Scratch<T> across(columns * width);
  std::fill_n(across.data(), columns * width, T(0));
  kernels::transpose(sizeof(T), others, columns, b, columns, across.data(), width);
  const int64_t grain = std::max<int64_t>(1, 16384 / (width * columns));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    const kernels::Scratch<T> sums(width);
    for (int64_t i = begin; i < end; ++i) {
      std::fill_n(sums.data(), width, T(0));
      for (int64_t c = 0; c < columns; ++c) {
        const auto add = [x = a[i * columns + c]](T so_far, T y) {
          return so_far + (x - y) * (x - y);
        };
        const void* const operands[] = {sums.data(), across.data() + c * width};
        detail::map_steps<T, T, 2, decltype(add)>(&add, sums.data(), operands, width);
      }
      const auto root = [](T x) { return std::sqrt(x); };
      const void* const operands[] = {sums.data()};
      detail::map_steps<T, T, 1, decltype(root)>(&root, sums.data(), operands, width);
      std::copy_n(sums.data(), others, out + i * others);
    }
  });
}

// x1 [..., P, M], x2 [..., R, M] -> [..., P, R] with broadcast batches.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  TORCHLET_CHECK(x1.dim() >= 2 && x2.dim() >= 2,
                 "cdist only supports at least 2D tensors, got %s and %s", x1.describe().c_str(),
                 x2.describe().c_str());
  TORCHLET_CHECK(x1.size(-1) == x2.size(-1),
                 "X1 and X2 must have the same number of columns. X1: %lld X2: %lld",
                 ll(x1.size(-1)), ll(x2.size(-1)));
  TORCHLET_CHECK(is_floating_point(x1.dtype()) && is_floating_point(x2.dtype()),
                 "cdist only supports floating-point dtypes, got %s and %s", x1.describe().c_str(),
                 x2.describe().c_str());
  TORCHLET_CHECK(p >= 0, "cdist only supports non-negative p values");
  const int64_t mode = compute_mode.value_or(0);
  TORCHLET_CHECK(mode >= 0 && mode <= 2, "possible modes: 0, 1, 2, but was: %lld", ll(mode));
  const DType dtype = promote_types(x1.dtype(), x2.dtype());
  IntArray batch = broadcast_shapes(x1.sizes().first(x1.sizes().size() - 2),
                                    x2.sizes().first(x2.sizes().size() - 2));
  auto expanded = [&batch](const Tensor& x) {
    IntArray sizes = batch;
    sizes.push_back(x.size(-2));
    sizes.push_back(x.size(-1));
    return expand(x, sizes);
  };
  const int64_t rows1 = x1.size(-2), rows2 = x2.size(-2), columns = x1.size(-1);
  IntArray shape = batch;
  shape.push_back(rows1);
  shape.push_back(rows2);
  return compute_as<kMapReal>(dtype, "cdist", [&](auto zero) {
    using T = decltype(zero);
    const Tensor a = dense_as<T>(expanded(x1)), b = dense_as<T>(expanded(x2));
    constexpr int64_t kFewRows = 25, kFewColumns = 8;
    const bool is_many = mode == 1 || (mode == 0 && (rows1 > kFewRows || rows2 > kFewRows));
    if (p == 2 && is_many && columns > kFewColumns) return distances_by_products(a, b).to(dtype);
    const Tensor out = empty(shape, DTypeOf<T>::value);
    if (out.numel() == 0) return out.to(dtype);
    if (p == 2 && columns > 0 && columns <= kFewColumns && rows2 >= detail::kStep) {
      for (int64_t i = 0; i < out.numel() / (rows1 * rows2); ++i) {
        distances_by_columns(const_data<T>(a) + i * rows1 * columns, rows1,
                             const_data<T>(b) + i * rows2 * columns, rows2, columns,
                             out.data_ptr<T>() + i * rows1 * rows2);
      }
      return out.to(dtype);
    }
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, rows2 * columns));
    parallel_for(out.numel() / rows2, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* to = const_data<T>(b) + i / rows1 * rows2 * columns;
        for (int64_t j = 0; j < rows2; ++j) {
          out.data_ptr<T>()[i * rows2 + j] =
              distance(const_data<T>(a) + i * columns, to + j * columns, columns, p);
        }
      }
    });
    return out.to(dtype);
  });
}

// The distances of all pairs of rows, the upper triangle row by row.
Tensor pdist(const Tensor& self, double p) {
  TORCHLET_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: %lldD", ll(self.dim()));
  TORCHLET_CHECK(is_floating_point(self.dtype()), "pdist only supports floating-point dtypes");
  TORCHLET_CHECK(p >= 0, "pdist only supports non-negative p values");
  const int64_t rows = self.size(0), columns = self.size(1);
  return compute_as<kMapReal>(self.dtype(), "pdist", [&](auto zero) {
    using T = decltype(zero);
    const Tensor x = dense_as<T>(self);
    const Tensor out = empty({{rows * std::max<int64_t>(rows - 1, 0) / 2}}, DTypeOf<T>::value);
    T* to = out.data_ptr<T>();
    const T* data = const_data<T>(x);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = i + 1; j < rows; ++j) {
        *to++ = distance(data + i * columns, data + j * columns, columns, p);
      }
    }
    return out.to(self.dtype());
  });
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const DType dtype = result_type(x1, x2);
  TORCHLET_CHECK(is_floating_point(dtype),
                 "expected common dtype to be floating point, yet common dtype is %s",
                 dtype_name(dtype).data());
  const IntArray shape = broadcast_shapes(x1.sizes(), x2.sizes());
  auto normalized = [&](const Tensor& x) {
    const Tensor full_x = expand(x.to(dtype), shape);
    const Tensor norm = vector_norm(full_x, Scalar(2), {{dim}}, true);
    return div(full_x, clamp(norm, Scalar(eps), std::nullopt));
  };
  return sum(mul(normalized(x1), normalized(x2)), {{dim}});
}

}  // namespace

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  return vector_norm(add(sub(x1, x2), Scalar(eps)), Scalar(p), {{-1}}, keepdim);
}

TORCHLET_OP(cdist,
            "aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
            cdist);
TORCHLET_OP_WITH(_cdist_forward, out("out"),
                 "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
                 cdist);
TORCHLET_OP(pdist, "aten::pdist(Tensor self, float p=2.) -> Tensor", pdist);
TORCHLET_OP_WITH(_pdist_forward, out("out"),
                 "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor", pdist);
TORCHLET_OP(cosine_similarity,
            "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
            cosine_similarity);
TORCHLET_OP(pairwise_distance,
            "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool "
            "keepdim=False) -> Tensor",
            pairwise_distance);

}  // namespace torchlet::ops
