// For tests of linear algebra: small matrices by their numbers, larger ones of full rank, and how
// close two are.
#pragma once

#include <cmath>
#include <vector>

#include "ops/core/testing.h"
#include "ops/engines/matmul.h"

namespace torchlet::ops {

inline constexpr double kInf = INFINITY, kNan = NAN;
inline constexpr DType kF32 = DType::kFloat32, kI32 = DType::kInt32, kI64 = DType::kInt64;

inline Tensor square(std::vector<double> elements, DType dtype = kF32) {
  return make(std::move(elements), dtype, {2, 2});
}
inline Tensor complex_square(std::vector<double> pairs) {
  return result_of("aten::view_as_complex", "", {make(std::move(pairs), kF32, {2, 2, 2})});
}
inline Tensor real_pairs(const Tensor& z) { return result_of("aten::view_as_real", "", {z}); }
inline Tensor adjoint(const Tensor& a) {
  const Tensor turned = transpose(a, -2, -1);
  return is_complex(a.dtype()) ? result_of("aten::conj_physical", "", {turned}) : turned;
}
inline Tensor scaled_columns(const Tensor& a, const Tensor& factors) {
  return result_of("aten::mul", "Tensor", {a, unsqueeze(factors, -2)});
}
inline void expect_close(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  const Tensor distance = result_of("aten::abs", "", {result_of("aten::sub", "Tensor", {a, b})});
  for (const double d : elements_of(distance)) EXPECT_LT(d, tolerance);
}

// Matrices of all shapes, a batch, none at all, and complex ones.
inline std::vector<Tensor> samples() {
  const Tensor parts = ramp({3, 4, 2}, 2);
  return {ramp({1, 1}, 1),    ramp({3, 3}, 4),
          ramp({5, 3}, 2),    ramp({3, 5}, 3),
          ramp({2, 3, 4}, 1), ramp({0, 3}),
          ramp({2, 0, 0}),    result_of("aten::view_as_complex", "", {parts})};
}

// Of full rank, unlike ramp().
inline Tensor scattered(IntArray sizes, DType dtype = DType::kFloat64) {
  const Tensor real = empty(sizes, DType::kFloat64);
  for (int64_t i = 0; i < real.numel(); ++i) {
    real.data_ptr<double>()[i] = std::sin(static_cast<double>(i) * static_cast<double>(i + 1));
  }
  return real.to(dtype);
}

inline double max_of(const Tensor& a) {
  return elements_of(result_of("aten::max", "", {result_of("aten::abs", "", {a})}))[0];
}

}  // namespace torchlet::ops
