// What spectra begin with: matrices brought to a few diagonals, or to a triangle and one beside it.
#pragma once

#include <vector>

#include "ops/engines/dense_matrix.h"

namespace torchlet::ops::linalg {

// A matrix whose columns are contiguous.
template <typename T>
class Columns : public View<T> {
 public:
  Columns(int64_t rows, int64_t cols) : rows_of_(cols, rows) {
    static_cast<View<T>&>(*this) = rows_of_.transposed();
  }
  explicit Columns(const View<T>& a) : Columns(a.rows(), a.cols()) { copy<T>(a, *this); }

 private:
  Matrix<T> rows_of_;
};

// What a matrix is brought to by reflections from both sides: real, a diagonal and what is beside
// it. The factors of the reflections, whose vectors lie where the matrix was.
template <typename T>
struct Band {
  std::vector<double> diagonal, beside;
  std::vector<T> left, right;
};

// All for T = float, double and std::complex<double>, of matrices whose columns are contiguous and
// whose elements are not far from 1.

// a = U B V^H with B upper bidiagonal and m >= n. The reflections of V lie in `rows`, [n - 1, n -
// 1], whose columns are contiguous, too.
template <typename T>
Band<T> to_bidiagonal(const View<T>& a, const View<T>& rows);

// a = Q T Q^H with T tridiagonal, of a Hermitian matrix, of which the lower triangle is read.
template <typename T>
Band<T> to_tridiagonal(const View<T>& a);

// a = Q H Q^H with H upper Hessenberg: zero below the diagonal that is next to the main one, where
// the reflections' vectors lie. Returns their factors.
template <typename T>
std::vector<T> to_hessenberg(const View<T>& a);

}  // namespace torchlet::ops::linalg
