// Folding along what lies in order.
#pragma once

#include <cstddef>

#include "kernels/reduce/fold.h"
#include "ops/engines/fold/walk.h"

namespace torchlet::ops::folding {

// Of how many columns runs of this type can be that are folded in it: 0 if there can be none.
int64_t most_run_columns(kernels::Fold fold, DType dtype);

// All of dense memory, which is read fastest in order.
void fold_all(kernels::Fold fold, const Tensor& self, std::byte* out);

// A walk that is of runs. `centers` may be null.
void fold_along_runs(kernels::Fold fold, const Tensor& self, const Walk& walk,
                     const std::byte* centers, std::byte* out, int64_t outputs);

}  // namespace torchlet::ops::folding
