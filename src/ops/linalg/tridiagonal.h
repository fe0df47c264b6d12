// Spectra of real symmetric tridiagonal matrices, given by their diagonals and what is beside them.
#pragma once

#include <vector>

#include "ops/engines/dense_matrix.h"

namespace torchlet::ops::linalg {

using Reals = std::vector<double>;

// The eigenvalues, in no order, to within rounding of the largest.
Reals tridiagonal_values(Reals diagonal, Reals beside);

}  // namespace torchlet::ops::linalg
