#include "kernels/reduce/fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

FoldType type_of(float) { return FoldType::kFloat32; }
FoldType type_of(double) { return FoldType::kFloat64; }
FoldType type_of(int64_t) { return FoldType::kInt64; }

template <typename T>
T folded(Fold fold, T a, T x, T center) {
  switch (fold) {
    case Fold::kSum:
      return a + x;
    case Fold::kProduct:
      return a * x;
    case Fold::kMax:
      return std::isnan(static_cast<double>(a)) || a > x ? a : x;
    case Fold::kMin:
      return std::isnan(static_cast<double>(a)) || a < x ? a : x;
    case Fold::kSumOfAbs:
      return a + (x < 0 ? -x : x);
    case Fold::kSumOfSquares:
      return a + x * x;
    case Fold::kSumOfNumbers:
      return std::isnan(static_cast<double>(x)) ? a : a + x;
    default:
      return a + (x - center) * (x - center);
  }
}

// Small integers, so that floats are exact in any order.
template <typename T>
void compare(Fold fold, int64_t rows, int64_t cols) {
  SCOPED_TRACE(testing::Message() << static_cast<int>(fold) << ": " << rows << " x " << cols);
  const int64_t stride = cols + 3;
  std::vector<T> x(static_cast<size_t>(rows * stride)), center(static_cast<size_t>(cols));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = fold == Fold::kProduct ? static_cast<T>(i % 3 == 0 ? -1 : 1 + i % 7 / 6)
                                  : static_cast<T>(static_cast<int64_t>(i * 7 % 23) - 11);
    if (fold == Fold::kSumOfNumbers && i % 4 == 1) x[i] = std::numeric_limits<T>::quiet_NaN();
  }
  for (size_t c = 0; c < center.size(); ++c) center[c] = static_cast<T>(c % 5);
  std::vector<T> into(static_cast<size_t>(cols) + 1, 2), expected = into;
  const T* centers = fold == Fold::kSumOfDistances ? center.data() : nullptr;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      T& to = expected[static_cast<size_t>(c)];
      to = folded(fold, to, x[static_cast<size_t>(r * stride + c)], center[static_cast<size_t>(c)]);
    }
  }
  fold_rows(fold, {type_of(T()), x.data(), stride, rows, cols, centers}, into.data());
  EXPECT_EQ(into, expected);
  if (rows == 0) return;
  std::vector<T> first(static_cast<size_t>(cols), 2), set(static_cast<size_t>(cols) + 1, 2);
  std::fill_n(set.begin(), cols, static_cast<T>(99));
  fold_rows(fold, {type_of(T()), x.data(), stride, rows, cols, centers, first.data()}, set.data());
  EXPECT_EQ(set, expected);
}

template <typename T>
void compare_all(Fold last) {
  for_each_target([&] {
    for (int64_t rows : {0, 1, 3, 4, 9}) {
      for (int64_t cols : {1, 2, 3, 4, 7, 8, 15, 16, 17, 33}) {
        for (int fold = 0; fold <= static_cast<int>(last); ++fold) {
          compare<T>(static_cast<Fold>(fold), rows, cols);
        }
      }
    }
  });
}

// Several matrices at once are each of them alone, with a first row or without.
template <typename T>
void compare_matrices(Fold fold, int64_t rows, int64_t cols) {
  SCOPED_TRACE(testing::Message() << static_cast<int>(fold) << ": " << rows << " x " << cols);
  constexpr int64_t kMatrices = 3;
  const int64_t matrix_stride = rows * cols + 2, into_stride = cols + 1;
  std::vector<T> x(static_cast<size_t>(kMatrices * matrix_stride));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(static_cast<int64_t>(i * 7 % 23) - 11);
  for (const bool has_first : {false, true}) {
    FoldRows m{type_of(T()), x.data(), cols, rows, cols};
    if (has_first) {
      m.first = x.data();
      m.x = x.data() + cols;
      --m.rows;
    }
    std::vector<T> expected(static_cast<size_t>(kMatrices * into_stride), 3), into = expected;
    for (int64_t i = 0; i < kMatrices; ++i) {
      FoldRows one = m;
      one.x = static_cast<const T*>(m.x) + i * matrix_stride;
      if (has_first) one.first = static_cast<const T*>(m.first) + i * matrix_stride;
      fold_rows(fold, one, expected.data() + i * into_stride);
    }
    m.matrices = kMatrices;
    m.matrix_stride = matrix_stride;
    m.into_stride = into_stride;
    fold_rows(fold, m, into.data());
    EXPECT_EQ(into, expected);
  }
}

TEST(Fold, MatricesAtOnce) {
  for_each_target([] {
    for (int64_t rows : {2, 4, 6}) {
      for (int64_t cols : {1, 5, 16, 35}) {
        for (const Fold fold : {Fold::kSum, Fold::kMax}) {
          compare_matrices<float>(fold, rows, cols);
          compare_matrices<double>(fold, rows, cols);
          compare_matrices<int64_t>(fold, rows, cols);
        }
      }
    }
  });
}

template <typename T>
void compare_runs(Fold fold, int64_t rows, int64_t columns = 1) {
  SCOPED_TRACE(testing::Message() << static_cast<int>(fold) << ": " << rows << " along a row of "
                                  << columns);
  constexpr int64_t kRuns = 3;
  const int64_t into_stride = columns + 1, count = rows * columns;
  constexpr T kUntouched = -12345;
  const int64_t stride = count + 3;
  std::vector<T> x(static_cast<size_t>(kRuns * stride)), center{4, kUntouched, 1, kUntouched, -2};
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = fold == Fold::kProduct ? static_cast<T>(i % 3 == 0 ? -1 : 1 + i % 47 / 46)
                                  : static_cast<T>(static_cast<int64_t>(i * 7 % 23) - 11);
    if (fold == Fold::kSumOfNumbers && i % 4 == 1) x[i] = std::numeric_limits<T>::quiet_NaN();
  }
  std::vector<T> into(static_cast<size_t>(kRuns * into_stride), kUntouched), expected = into;
  for (int64_t r = 0; r < kRuns; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const T* row = x.data() + r * stride + c;
      const T near = columns == 1 ? center[static_cast<size_t>(r * into_stride)] : T(0);
      T all = fold == Fold::kProduct ? 1 : 0;
      if (fold == Fold::kMax || fold == Fold::kMin) all = row[0];
      for (int64_t i = 0; i < count; i += columns) all = folded(fold, all, row[i], near);
      expected[static_cast<size_t>(r * into_stride + c)] = all;
    }
  }
  const bool has_center = fold == Fold::kSumOfDistances;
  const FoldRuns<T> runs{x.data(), stride, kRuns, count, has_center ? center.data() : nullptr,
                         columns};
  fold_runs(fold, runs, into.data(), into_stride);
  EXPECT_EQ(into, expected);
}

TEST(Fold, RunsAlongRows) {
  for_each_target([] {
    for (const int64_t count : {1, 3, 4, 15, 16, 31, 32, 33, 47, 64, 100, 1000}) {
      for (const Fold fold : {Fold::kSum, Fold::kProduct, Fold::kMax, Fold::kMin, Fold::kSumOfAbs,
                              Fold::kSumOfSquares, Fold::kSumOfDistances, Fold::kSumOfNumbers}) {
        compare_runs<float>(fold, count);
        if (fold != Fold::kSumOfDistances) {
          compare_runs<float>(fold, count, 2);
          compare_runs<float>(fold, count, 4);
        }
        if (fold == Fold::kSum || fold == Fold::kMax || fold == Fold::kMin) {
          compare_runs<int64_t>(fold, count);
          compare_runs<int64_t>(fold, count, 2);
          compare_runs<double>(fold, count);
          compare_runs<double>(fold, count, 2);
        }
      }
    }
    const std::vector<float> x{1, NAN, 3, 2};
    float into;
    for (const Fold fold : {Fold::kMax, Fold::kMin}) {
      fold_runs(fold, FoldRuns<float>{x.data(), 4, 1, 4}, &into, 1);
      EXPECT_TRUE(std::isnan(into));
    }
  });
}

TEST(Fold, Floats) { compare_all<float>(Fold::kSumOfNumbers); }
TEST(Fold, Doubles) { compare_all<double>(Fold::kSumOfNumbers); }
TEST(Fold, Integers) { compare_all<int64_t>(Fold::kMin); }

TEST(Fold, KeepsNaNOfExtremes) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for_each_target([&] {
    for (int64_t rows : {1, 2, 4, 7}) {
      for (int64_t where = 0; where < rows; ++where) {
        for (Fold fold : {Fold::kMax, Fold::kMin}) {
          constexpr int64_t kCols = 19;
          std::vector<float> x(static_cast<size_t>(rows * kCols), 5), into(kCols, 5);
          for (size_t c = 0; c < kCols; c += 2) x[static_cast<size_t>(where) * kCols + c] = kNaN;
          fold_rows(fold, {FoldType::kFloat32, x.data(), kCols, rows, kCols}, into.data());
          for (size_t c = 0; c < kCols; ++c) {
            EXPECT_EQ(std::isnan(into[c]), c % 2 == 0) << rows << " " << where << " " << c;
          }
        }
      }
    }
  });
}

TEST(Fold, WrapsIntegers) {
  for_each_target([] {
    const int64_t most = std::numeric_limits<int64_t>::max();
    const std::vector<int64_t> x = {1, most, 3, 1};
    std::vector<int64_t> sums = {most, 1}, products = {2, 2};
    fold_rows(Fold::kSum, {FoldType::kInt64, x.data(), 2, 2, 2}, sums.data());
    fold_rows(Fold::kProduct, {FoldType::kInt64, x.data(), 2, 2, 2}, products.data());
    EXPECT_EQ(sums, (std::vector<int64_t>{std::numeric_limits<int64_t>::min() + 3,
                                          std::numeric_limits<int64_t>::min() + 1}));
    EXPECT_EQ(products, (std::vector<int64_t>{6, -2}));
  });
}

}  // namespace
}  // namespace torchlet::kernels
