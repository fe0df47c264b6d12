#include "kernels/gemm/vectors.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

template <typename T>
void check_vectors(int64_t count) {
  std::vector<T> x, y;  // one longer than asked for; small integers, so that all is exact
  for (int64_t i = 0; i <= count; ++i) {
    x.push_back(static_cast<T>(i * 7 % 11 - 5));
    y.push_back(static_cast<T>(i * 5 % 13 - 6));
  }
  T expected = 0;
  std::vector<T> sum = y;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    expected += x[i] * y[i];
    sum[i] += 3 * x[i];
  }
  EXPECT_EQ(dot(x.data(), y.data(), count), expected);
  add_scaled(T(3), x.data(), y.data(), count);
  EXPECT_EQ(y, sum);

  const int64_t stride = count + 3;
  std::vector<T> a, sums = {1, 2, 3, 4}, expected_sums = sums;
  for (int64_t i = 0; i < 4 * stride; ++i) a.push_back(static_cast<T>(i * 3 % 17 - 8));
  const std::vector<T> factors = {2, -3, 5, -7};
  for (size_t k = 0; k < 4; ++k) {
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const T value = a[k * static_cast<size_t>(stride) + i];
      sum[i] += factors[k] * value;
      expected_sums[k] += value * x[i];
    }
  }
  multiply_both_ways(a.data(), stride, factors.data(), x.data(), y.data(), sums.data(), count);
  EXPECT_EQ(y, sum);
  EXPECT_EQ(sums, expected_sums);

  std::vector<T> matrix = a, expected_matrix = a;
  for (size_t r = 0; r < 2; ++r) {  // of which the second lies two vectors further
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      expected_matrix[r * 2 * static_cast<size_t>(stride) + i] -= factors[3 * r] * x[i];
    }
  }
  subtract_outer(factors.data(), 3, x.data(), matrix.data(), 2 * stride, 2, count);
  EXPECT_EQ(matrix, expected_matrix);

  std::vector<T> z = a, reflected_x = x, reflected_y = y, reflected_z = z;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const T whole = 5 * (x[i] + 2 * y[i] - 3 * z[i]);
    reflected_x[i] -= whole;
    reflected_y[i] -= whole * 2;
    reflected_z[i] += whole * 3;
  }
  reflect(T(2), T(-3), T(5), x.data(), y.data(), z.data(), count);
  EXPECT_EQ(x, reflected_x);
  EXPECT_EQ(y, reflected_y);
  EXPECT_EQ(z, reflected_z);
}

TEST(Vectors, EveryTail) {
  for_each_target([] {
    for (int64_t count = 0; count < 80; ++count) {
      SCOPED_TRACE(count);
      check_vectors<float>(count);
      check_vectors<double>(count);
      std::vector<double> x, y, turned_x, turned_y;
      for (int64_t i = 0; i <= count; ++i) {
        const double p = static_cast<double>(i % 7), q = static_cast<double>(i % 5 - 2);
        x.push_back(p);
        y.push_back(q);
        turned_x.push_back(i < count ? 2 * p + 5 * q : p);
        turned_y.push_back(i < count ? 2 * q - 5 * p : q);
      }
      rotate(2, 5, x.data(), y.data(), count);
      EXPECT_EQ(x, turned_x);
      EXPECT_EQ(y, turned_y);
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
