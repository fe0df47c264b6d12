// What numbers are folded in, and with what.
#pragma once

#include <torchlet/dtype.h>

#include <cstddef>
#include <cstdint>

#include "kernels/reduce/fold.h"

namespace torchlet::ops::folding {

bool is_sum(kernels::Fold fold);

// What is left to do with numbers that are folded themselves.
kernels::Fold fold_of_results(kernels::Fold fold);

// What a number is folded with without a change.
double identity(kernels::Fold fold);

// The type that numbers are folded in.
struct Numbers {
  kernels::FoldType type;
  DType dtype;
  int64_t width;  // bytes

  explicit Numbers(DType compute);

  void fill(std::byte* to, int64_t count, double value) const;
  void copy(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride,
            int64_t count) const;
};

// Sets `into` to what the matrices are folded to, of at least one row.
void fold_anew(kernels::Fold fold, const Numbers& numbers, kernels::FoldRows matrices,
               std::byte* into);

}  // namespace torchlet::ops::folding
