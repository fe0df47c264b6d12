// The engine under operators that transform runs of elements along one dimension: cumulative sums,
// sorting.
#pragma once

#include "base/function_ref.h"
#include "ops/core/common.h"

namespace torchlet::ops {

// For every index of the dimensions other than `dim`: calls fn(in, values, indices) with the
// elements along `dim` as contiguous values of C (int64_t, float, double, std::complex<double>) and
// room for the results, which then go to the same place of the outputs. The outputs have the sizes
// of `self` but for `dim`; an undefined one is passed as null. `values` has any dtype that C
// converts to, `indices` is int64. A 0-d tensor is one slice of one element. Slices may run on
// different threads.
void dim_apply_of(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices,
                  DType compute,
                  FunctionRef<void(const void* in, void* values, int64_t* indices)> fn);
template <typename C, typename F>
void dim_apply(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices,
               const F& fn) {
  dim_apply_of(self, dim, values, indices, DTypeOf<C>::value,
               [&](const void* in, void* out, int64_t* at) {
                 fn(static_cast<const C*>(in), static_cast<C*>(out), at);
               });
}

}  // namespace torchlet::ops
