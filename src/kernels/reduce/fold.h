// Reductions along columns, and along short rows.
#pragma once

#include <cstdint>

namespace torchlet::kernels {

enum class Fold : uint8_t {
  kSum,
  kProduct,
  kMax,  // NaN is beyond all numbers
  kMin,
  kSumOfAbs,
  kSumOfSquares,    // of x
  kSumOfDistances,  // of (x - center)^2
  kSumOfNumbers,    // of x that is not NaN
};

enum class FoldType : uint8_t { kFloat32, kFloat64, kInt64 };

// A matrix [rows, cols] whose rows are `stride` elements apart.
struct FoldRows {
  FoldType type;
  const void* x;
  int64_t stride, rows, cols;
  const void* center = nullptr;  // [cols], for kSumOfDistances
  const void* first = nullptr;   // [cols], what `into` is to begin with
  // So many such matrices, `matrix_stride` elements apart, as are their first rows, and results
  // `into_stride` elements apart; they have their center in common.
  int64_t matrices = 1, matrix_stride = 0, into_stride = 0;
};

// into[c], of the same type, is folded with x[r, c] of all rows, in an order that depends on the
// sizes alone; if there is a first row, into[c] need not be set, but there has to be a row of x.
// Integers' sums and products wrap; they have the first four folds alone.
void fold_rows(Fold fold, const FoldRows& matrix, void* into);
// Its part for elements of 8 bytes.
void fold_rows_wide(Fold fold, const FoldRows& matrix, void* into);

// `runs` rows of `count` numbers, `stride` elements apart.
template <typename T>
struct FoldRuns {
  const T* x;
  int64_t stride, runs, count;
  const T* center = nullptr;  // [runs], `into_stride` elements apart; for kSumOfDistances
  // A row is [count / columns, columns], of so many results that lie side by side; a power of two,
  // at most kMostRunColumns.
  int64_t columns = 1;
};
template <typename T>
constexpr int64_t kMostRunColumns = static_cast<int64_t>(16 / sizeof(T));

// into[r * into_stride] is row r folded, in an order that depends on `count` alone; a sum of floats
// is one of 32 sums, so that few thousand numbers are no loss of accuracy. Integers and doubles
// have the sum and the extremes alone.
void fold_runs(Fold fold, const FoldRuns<float>& matrix, float* into, int64_t into_stride);
void fold_runs(Fold fold, const FoldRuns<double>& matrix, double* into, int64_t into_stride);
void fold_runs(Fold fold, const FoldRuns<int64_t>& matrix, int64_t* into, int64_t into_stride);

}  // namespace torchlet::kernels
