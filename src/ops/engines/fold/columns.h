// Folding across rows.
#pragma once

#include <cstddef>

#include "ops/engines/fold/numbers.h"
#include "ops/engines/fold/walk.h"

namespace torchlet::ops::folding {

inline constexpr int64_t kCascade = 64;           // sums that one sum is made of, at most
inline constexpr int64_t kAcrossElements = 4096;  // of short runs that are read across at a time

// Any walk that is not of runs. `center` may be null.
void fold_columns(kernels::Fold fold, const Numbers& numbers, const Tensor& self, const Walk& walk,
                  const std::byte* center, std::byte* out, int64_t outputs);

}  // namespace torchlet::ops::folding
