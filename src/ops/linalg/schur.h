// The Schur form of a real matrix, and what is read from it: eigenvalues and eigenvectors.
#pragma once

#include <complex>
#include <vector>

#include "ops/engines/dense_matrix.h"

namespace torchlet::ops::linalg {

// Both for T = float and double, of finite matrices whose rows are contiguous.

// Brings `a` to T with a = Q T Q^T: upper triangular, but for blocks of 2 x 2 on its diagonal that
// have complex eigenvalues. `q_rows` becomes Q^T, unless it has no rows: then only the diagonal of
// T and what is beside it is right. False if the iteration does not converge.
template <typename T>
bool to_schur(const View<T>& a, const View<T>& q_rows);

// The eigenvalues of such a T in the order of its diagonal, of a pair the one above the real axis
// first.
template <typename T>
std::vector<std::complex<double>> schur_values(const View<T>& t);

// Its eigenvectors, one in each row of any length; of a pair the real part of the first in one row,
// and the imaginary part in the next.
template <typename T>
Matrix<T> schur_vectors(const View<T>& t);

}  // namespace torchlet::ops::linalg
