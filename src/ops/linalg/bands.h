// Spectra of what matrices are reduced to: real bidiagonal and symmetric tridiagonal ones, given by
// their diagonals and what is beside them.
#pragma once

#include <vector>

#include "base/function_ref.h"
#include "ops/engines/dense_matrix.h"

namespace torchlet::ops::linalg {

using Reals = std::vector<double>;

// The eigenvalues of a tridiagonal matrix, in no order, to within rounding of the largest.
Reals tridiagonal_values(Reals diagonal, Reals beside);

// The eigenvalues of a tridiagonal matrix in ascending order in the place of its diagonal, and
// their vectors in the rows of `vectors`, which is zero at first, to within T's rounding of the
// largest. For T = float and double.
template <typename T>
void tridiagonal_vectors(Reals& diagonal, Reals beside, const View<T>& vectors);

// Turns columns k and k + 1 of vectors; does nothing if nobody wants them.
using TurnColumns = FunctionRef<void(size_t k, double c, double s)>;

// The singular values of an upper bidiagonal matrix, whatever their signs, in the place of its
// diagonal.
void bidiagonal_values(Reals& d, Reals& e, TurnColumns turn_u, TurnColumns turn_v);

}  // namespace torchlet::ops::linalg
