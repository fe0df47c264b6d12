#include "kernels/gemm/gemm_tiny.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

// Small integers, so that sums are exact in any order.
template <typename T>
void check(const TinyProducts& p, bool turns_a, bool turns_b) {
  SCOPED_TRACE(testing::Message() << p.count << " of " << p.m << " x " << p.k << " x " << p.n);
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  const int64_t of_a = p.m * p.k, of_b = p.k * p.n, of_c = p.m * p.n;
  std::vector<T> a(at(p.count * of_a)), b(at(p.count * of_b));
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i * 7 % 23) - 11;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i * 5 % 19) - 9;
  const ConstMatrix<T> x = {a.data(), turns_a ? 1 : p.k, turns_a ? p.m : 1};
  const ConstMatrix<T> y = {b.data(), turns_b ? 1 : p.n, turns_b ? p.k : 1};
  std::vector<T> expected(at(p.count * of_c) + 1, 77), c = expected;
  for (int64_t s = 0; s < p.count; ++s) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        T sum = 0;
        for (int64_t l = 0; l < p.k; ++l) {
          sum += x.data[s * of_a + i * x.row_stride + l * x.col_stride] *
                 y.data[s * of_b + l * y.row_stride + j * y.col_stride];
        }
        expected[at(s * of_c + i * p.n + j)] = sum;
      }
    }
  }
  gemm_tiny(p, x, y, c.data());
  EXPECT_EQ(c, expected);
}

TEST(GemmTiny, AgreesWithThePlainProduct) {
  for_each_target([] {
    for (const int64_t count : {1, 33, 64, 65, 200, 1500}) {
      for (const TinyProducts& p : {TinyProducts{count, 3, 3, 3}, TinyProducts{count, 3, 1, 3},
                                    TinyProducts{count, 1, 1, 64}, TinyProducts{count, 5, 7, 1},
                                    TinyProducts{count, 4, 4, 4}, TinyProducts{count, 1, 9, 2}}) {
        for (const bool turns_a : {false, true}) {
          for (const bool turns_b : {false, true}) {
            check<float>(p, turns_a, turns_b);
            check<double>(p, turns_a, turns_b);
          }
        }
      }
    }
  });
}

TEST(GemmTiny, SuitsManyOfFewNumbers) {
  EXPECT_TRUE(suits_tiny({32, 4, 4, 4}));
  EXPECT_FALSE(suits_tiny({31, 4, 4, 4}));
  EXPECT_FALSE(suits_tiny({1000, 4, 4, 5}));
  EXPECT_FALSE(suits_tiny({1000, int64_t{1} << 40, 1, int64_t{1} << 40}));
  EXPECT_FALSE(suits_tiny({1000, 3, 3, 0}));
}

}  // namespace
}  // namespace torchlet::kernels
