#define HWY_WANT_AVX3_DL  // as gemm_u8i8.cc
#include "kernels/gemm/gemm_u8i8.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

template <typename T>
std::vector<T> random_bytes(int64_t size) {
  std::mt19937 engine(7);
  std::vector<T> data(static_cast<size_t>(size));
  for (T& x : data) x = static_cast<T>(engine());
  return data;
}

void check(int64_t m, int64_t n, int64_t k, const ConstMatrix<uint8_t>& a,
           const ConstMatrix<int8_t>& b) {
  SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k);
  const int64_t stride = n + 5;
  std::vector<int32_t> c(static_cast<size_t>(m * stride), 777), expected = c;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += a.data[i * a.row_stride + l * a.col_stride] *
               b.data[l * b.row_stride + j * b.col_stride];
      }
      expected[static_cast<size_t>(i * stride + j)] = sum;
    }
  }
  gemm_u8i8(m, n, k, a, b, c.data(), stride);
  ASSERT_EQ(c, expected);
}

TEST(GemmU8I8, EveryTailAndStride) {
  for_each_target([] {
    for (int64_t m : {1, 3, 4, 7, 8, 9, 20}) {
      for (int64_t n : {1, 4, 7, 8, 15, 16, 17, 31, 32, 33, 70}) {
        for (int64_t k : {1, 2, 3, 4, 5, 27, 64, 131}) {
          const auto a = random_bytes<uint8_t>(m * k * 2);
          const auto b = random_bytes<int8_t>(k * n * 2);
          check(m, n, k, {a.data(), k, 1}, {b.data(), n, 1});
          check(m, n, k, {a.data(), 1, m}, {b.data(), 1, k});
          check(m, n, k, {a.data(), 2 * k, 2}, {b.data(), 2 * n, 2});
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST(GemmU8I8, ExtremesDoNotSaturate) {
  const int64_t m = 5, n = 9, k = 1000;
  const std::vector<uint8_t> a(m * k, 255);
  for (const int8_t value : {int8_t{-128}, int8_t{127}}) {
    const std::vector<int8_t> b(n * k, value);
    for_each_target([&] { check(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}); });
  }
}

TEST(GemmU8I8, Threads) {
  set_num_threads(4);
  const auto a = random_bytes<uint8_t>(300 * 200);
  const auto b = random_bytes<int8_t>(200 * 100);
  check(300, 100, 200, {a.data(), 200, 1}, {b.data(), 100, 1});
  set_num_threads(0);
}

}  // namespace
}  // namespace torchlet::kernels
