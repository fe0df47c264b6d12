// The engine under reductions and other operators that look at whole runs along some dimensions.
#pragma once

#include "base/function_ref.h"
#include "ops/common.h"
#include "ops/elementwise.h"

namespace torchlet::ops {

// Shape after reducing `dims` (normalised): 1 in their place if keepdim, else gone.
IntArray reduced_shape(IntSpan sizes, const IntArray& dims, bool keepdim);

// For every index of the kept dimensions, in row-major order: calls fn(run, count, output_index)
// with the elements of the reduced dimensions, in row-major order, as contiguous values of C
// (int64_t, float, double, std::complex<double>). Runs of C that lie contiguous are passed in
// place. Calls for different outputs may run on different threads. `count` may be 0.
template <typename C>
void for_each_run(const Tensor& self, const IntArray& dims,
                  FunctionRef<void(const C* run, int64_t count, int64_t output_index)> fn);

// The tensor of f(run, count) over `dims` (all if empty), computed in C and converted to `result`.
template <typename C, typename F>
Tensor reduce(const Tensor& self, IntSpan dims, bool keepdim, DType result, F f) {
  const IntArray reduced = normalize_dims(dims, self.dim());
  const Tensor out = empty(reduced_shape(self.sizes(), reduced, keepdim), DTypeOf<C>::value);
  C* values = out.data_ptr<C>();
  for_each_run<C>(self, reduced,
                  [&](const C* run, int64_t count, int64_t i) { values[i] = f(run, count); });
  return out.to(result);
}

// The same in the compute type of `compute`; f is a generic lambda.
template <int Types, typename F>
Tensor reduce_any(const Tensor& self, IntSpan dims, bool keepdim, DType compute, DType result,
                  F f) {
  return visit_compute<Types>(
      compute, [&](auto zero) { return reduce<decltype(zero)>(self, dims, keepdim, result, f); });
}

}  // namespace torchlet::ops
