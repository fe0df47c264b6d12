#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

void gemm(int64_t m, int64_t n, int64_t k, ConstMatrix<float> a, ConstMatrix<float> b, float* c,
          int64_t c_stride, const GemmEpilogue<float>& epilogue) {
  gemm_f32(m, n, k, a, b, c, c_stride, epilogue);
}
void gemm(int64_t m, int64_t n, int64_t k, ConstMatrix<double> a, ConstMatrix<double> b, double* c,
          int64_t c_stride, const GemmEpilogue<double>& epilogue) {
  gemm_f64(m, n, k, a, b, c, c_stride, epilogue);
}
void gemm(int64_t m, int64_t n, int64_t k, ConstMatrix<uint64_t> a, ConstMatrix<uint64_t> b,
          uint64_t* c, int64_t c_stride, const GemmEpilogue<uint64_t>& epilogue) {
  gemm_u64(m, n, k, a, b, c, c_stride, epilogue);
}

template <typename T>
class GemmTest : public testing::Test {
 protected:
  // Every product and sum is exact, so the answers can be compared for equality: small integers in
  // floats, and any integers modulo 2^64.
  std::vector<T> random(int64_t size) {
    constexpr bool kIsInteger = std::is_integral_v<T>;
    std::uniform_int_distribution<int64_t> values(kIsInteger ? INT64_MIN : -8,
                                                  kIsInteger ? INT64_MAX : 8);
    std::vector<T> data(static_cast<size_t>(size));
    for (T& x : data) x = static_cast<T>(values(engine_));
    return data;
  }

  void check(int64_t m, int64_t n, int64_t k, ConstMatrix<T> a, ConstMatrix<T> b,
             const GemmEpilogue<T>& epilogue = {}) {
    SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k);
    constexpr T kGuard = 12345;
    const int64_t stride = n + 3;
    std::vector<T> c(static_cast<size_t>(m * stride), kGuard);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j)
        c[static_cast<size_t>(i * stride + j)] = static_cast<T>(i - j);
    }
    std::vector<T> expected = c;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T& out = expected[static_cast<size_t>(i * stride + j)];
        T sum = epilogue.accumulate ? out : 0;
        for (int64_t l = 0; l < k; ++l) {
          sum += a.data[i * a.row_stride + l * a.col_stride] *
                 b.data[l * b.row_stride + j * b.col_stride];
        }
        if (epilogue.row_bias) sum += epilogue.row_bias[i];
        if (epilogue.col_bias) sum += epilogue.col_bias[j];
        if constexpr (!std::is_integral_v<T>) {
          sum = std::fmin(epilogue.max, std::fmax(epilogue.min, sum));
        }
        out = sum;
      }
    }
    gemm(m, n, k, a, b, c.data(), stride, epilogue);
    ASSERT_EQ(c, expected);
  }

  std::mt19937 engine_{42};
};

using Types = testing::Types<float, double, uint64_t>;
TYPED_TEST_SUITE(GemmTest, Types);

TYPED_TEST(GemmTest, EveryTailOfRowsAndColumns) {
  using T = TypeParam;
  for_each_target([&] {
    for (int64_t m : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 40}) {
      for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 100}) {
        const int64_t k = 1 + (m * 7 + n) % 11;
        const auto a = this->random(m * k), b = this->random(k * n);
        this->check(m, n, k, ConstMatrix<T>{a.data(), k, 1}, ConstMatrix<T>{b.data(), n, 1});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TYPED_TEST(GemmTest, EveryStrideAndEpilogue) {
  using T = TypeParam;
  for_each_target([&] {
    for (int64_t m : {1, 3, 6, 11, 35}) {
      for (int64_t n : {1, 5, 18, 51}) {
        for (int64_t k : {0, 1, 19, 300, 600}) {
          const auto a = this->random(m * k * 2 + 1), b = this->random(k * n * 3 + 1);
          const auto row_bias = this->random(m), col_bias = this->random(n);
          const ConstMatrix<T> as[] = {
              {a.data(), k, 1}, {a.data(), 1, m}, {a.data(), 2 * k, 2}, {a.data(), 0, 1}};
          const ConstMatrix<T> bs[] = {
              {b.data(), n, 1}, {b.data(), 1, k}, {b.data(), 3 * n, 3}, {b.data(), 1, 0}};
          GemmEpilogue<T> epilogues[5];
          epilogues[1].accumulate = true;
          epilogues[2].row_bias = row_bias.data();
          epilogues[3].col_bias = col_bias.data();
          epilogues[3].min = 0;
          epilogues[3].max = 6;
          epilogues[4] = epilogues[3];
          epilogues[4].accumulate = true;
          epilogues[4].row_bias = row_bias.data();
          for (size_t i = 0; i < 20; ++i) {
            this->check(m, n, k, as[i % 4], bs[i / 4 % 4], epilogues[i % 5]);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  });
}

// Fewer columns than half of a vector has, of short sums, in whole and broken pieces of rows.
TYPED_TEST(GemmTest, FewColumns) {
  using T = TypeParam;
  for_each_target([&] {
    for (int64_t m : {12, 47, 48, 50, 200, 1030}) {
      for (int64_t n : {1, 2, 3, 4, 5, 8, 9}) {
        for (int64_t k : {1, 4, 5, 32, 33}) {
          const auto a = this->random(m * k * 2 + 1), b = this->random(k * n);
          const auto row_bias = this->random(m), col_bias = this->random(n);
          GemmEpilogue<T> epilogue;
          epilogue.accumulate = k == 5;
          epilogue.row_bias = k == 4 ? row_bias.data() : nullptr;
          epilogue.col_bias = k == 32 ? col_bias.data() : nullptr;
          epilogue.max = k == 33 ? 1 : epilogue.max;
          for (const ConstMatrix<T> tall : {ConstMatrix<T>{a.data(), k, 1},
                                            {a.data(), k + 1, 1},
                                            {a.data(), 1, m},
                                            {a.data(), 2 * k, 2}}) {
            this->check(m, n, k, tall, {b.data(), n, 1}, epilogue);
            this->check(m, n, k, tall, {b.data(), 1, k}, epilogue);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  });
}

// A few rows or columns of a long product, with the large matrix either way round.
TYPED_TEST(GemmTest, ThinAndLong) {
  using T = TypeParam;
  for_each_target([&] {
    for (int64_t few : {1, 2, 3, 6, 9, 16}) {
      for (int64_t many : {6, 40, 1030}) {
        for (int64_t k : {17, 150}) {
          const auto a = this->random(few * k), b = this->random(k * many);
          GemmEpilogue<T> epilogue;
          epilogue.accumulate = many == 1030;
          for (const ConstMatrix<T> thin : {ConstMatrix<T>{a.data(), k, 1}, {a.data(), 1, few}}) {
            for (const ConstMatrix<T> large :
                 {ConstMatrix<T>{b.data(), many, 1}, {b.data(), 1, k}}) {
              this->check(few, many, k, thin, large, epilogue);
              this->check(many, few, k, {large.data, large.col_stride, large.row_stride},
                          {thin.data, thin.col_stride, thin.row_stride}, epilogue);
              if (testing::Test::HasFatalFailure()) return;
            }
          }
        }
      }
    }
  });
}

// One row times a matrix that no cache holds, which is fetched ahead.
TYPED_TEST(GemmTest, OneRowTimesAMatrixFromMemory) {
  for_each_target([&] {
    for (int64_t k : {257, 1000}) {
      const int64_t n = (int64_t{1} << 20) / k + 7;
      const auto a = this->random(k), b = this->random(k * n);
      this->check(1, n, k, {a.data(), k, 1}, {b.data(), 1, k}, {});
    }
  });
}

TYPED_TEST(GemmTest, MatrixTimesVector) {
  using T = TypeParam;
  for_each_target([&] {
    for (int64_t m : {1, 2, 7, 100}) {
      for (int64_t k : {1, 5, 64, 130}) {
        const auto a = this->random(m * k), x = this->random(k), bias = this->random(m);
        for (const ConstMatrix<T> matrix : {ConstMatrix<T>{a.data(), k, 1}, {a.data(), 1, m}}) {
          std::vector<T> y(static_cast<size_t>(m), 3), expected = bias;
          for (int64_t i = 0; i < m; ++i) {
            T& sum = expected[static_cast<size_t>(i)];
            for (int64_t l = 0; l < k; ++l) {
              sum += matrix.data[i * matrix.row_stride + l * matrix.col_stride] *
                     x[static_cast<size_t>(l)];
            }
          }
          GemmEpilogue<T> epilogue;
          epilogue.row_bias = bias.data();
          gemm(m, 1, k, matrix, ConstMatrix<T>{x.data(), 1, 1}, y.data(), 1, epilogue);
          ASSERT_EQ(y, expected) << "m " << m << " k " << k;
        }
      }
    }
  });
}

TYPED_TEST(GemmTest, ThreadsDoNotChangeTheResult) {
  using T = TypeParam;
  const int64_t m = 150, n = 500, k = 333;
  std::vector<T> a(m * k), b(k * n), one(m * n), many(m * n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<T>(std::sin(0.37 * static_cast<double>(i)));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<T>(std::cos(0.11 * static_cast<double>(i)));
  set_num_threads(1);
  gemm(m, n, k, ConstMatrix<T>{a.data(), k, 1}, ConstMatrix<T>{b.data(), n, 1}, one.data(), n, {});
  set_num_threads(4);
  gemm(m, n, k, ConstMatrix<T>{a.data(), k, 1}, ConstMatrix<T>{b.data(), n, 1}, many.data(), n, {});
  set_num_threads(0);
  EXPECT_EQ(one, many);
}

TYPED_TEST(GemmTest, NothingIsReadOfEmptyMatrices) {
  using T = TypeParam;
  for_each_target([&] {
    for (const int64_t m : {1, 5, 40}) {
      std::vector<T> c(static_cast<size_t>(m * 40), T(7));
      const ConstMatrix<T> none{nullptr, 1, 1};
      gemm(m, 40, 0, none, none, c.data(), 40, {});
      EXPECT_EQ(c, std::vector<T>(c.size(), T(0)));
    }
  });
}

TYPED_TEST(GemmTest, ClampKeepsNaN) {
  using T = TypeParam;
  if (std::is_integral_v<T>) return;
  for_each_target([&] {
    const T a = 1, b[3] = {std::numeric_limits<T>::quiet_NaN(), 100, static_cast<T>(-100)};
    T c[3];
    GemmEpilogue<T> epilogue;
    epilogue.min = 0;
    epilogue.max = 6;
    gemm(1, 3, 1, ConstMatrix<T>{&a, 1, 1}, ConstMatrix<T>{b, 3, 1}, c, 3, epilogue);
    EXPECT_TRUE(std::isnan(c[0]));
    EXPECT_EQ(c[1], 6);
    EXPECT_EQ(c[2], 0);
  });
}

}  // namespace
}  // namespace torchlet::kernels
