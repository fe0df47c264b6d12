// The engine under reductions that fold numbers one by one: sums, products, extremes, norms.
#pragma once

#include "kernels/reduce/fold.h"
#include "ops/core/common.h"

namespace torchlet::ops {

// `self` folded over `dims` (all if empty), in the type that numbers of `compute` are computed in
// (int64, float or double; Error otherwise), as a contiguous tensor of that type. Memory is read in
// the order in which it lies, whatever the order of the dimensions; sums are cascades, so that
// their error does not grow with the size. Sums over nothing are 0 and products 1; extremes over
// nothing are not asked for. `center` for kSumOfDistances: contiguous, of the result's type and
// number of elements.
Tensor fold(kernels::Fold fold, const Tensor& self, IntSpan dims, bool keepdim, DType compute,
            const Tensor& center = {});

// The same into `out`: contiguous, of a type that numbers are computed in, with the elements of the
// result in order.
void fold_into(kernels::Fold fold, const Tensor& self, IntSpan dims, const Tensor& out,
               const Tensor& center = {});

}  // namespace torchlet::ops
