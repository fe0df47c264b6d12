// The engine under reductions and other operators that look at whole runs along some dimensions.
#pragma once

#include "base/function_ref.h"
#include "ops/core/common.h"
#include "ops/engines/elementwise.h"

namespace torchlet::ops {

// Shape after reducing `dims` (normalised): 1 in their place if keepdim, else gone.
IntArray reduced_shape(IntSpan sizes, const IntArray& dims, bool keepdim);

// For every index of the kept dimensions, in row-major order: calls fn(run, count, output_index)
// with the elements of the reduced dimensions, in row-major order, as contiguous values of C
// (int64_t, float, double, std::complex<double>). Runs of C that lie contiguous are passed in
// place. Calls for different outputs may run on different threads. `count` may be 0.
void for_each_run_of(const Tensor& self, const IntArray& dims, DType compute,
                     FunctionRef<void(const void* run, int64_t count, int64_t output_index)> fn);
template <typename C, typename F>
void for_each_run(const Tensor& self, const IntArray& dims, const F& fn) {
  for_each_run_of(self, dims, DTypeOf<C>::value, [&](const void* run, int64_t count, int64_t i) {
    fn(static_cast<const C*>(run), count, i);
  });
}

// Computes one result from a run: `f` is the lambda of an operator.
using RunBody = void (*)(const void* f, const void* run, int64_t count, void* result);
Tensor reduce_with(const Tensor& self, IntSpan dims, bool keepdim, DType compute, DType result,
                   RunBody body, const void* f);

// The tensor of f(run, count) over `dims` (all if empty), computed in C and converted to `result`.
template <typename C, typename F>
Tensor reduce(const Tensor& self, IntSpan dims, bool keepdim, DType result, const F& f) {
  const RunBody body = [](const void* state, const void* run, int64_t count, void* value) {
    *static_cast<C*>(value) = (*static_cast<const F*>(state))(static_cast<const C*>(run), count);
  };
  return reduce_with(self, dims, keepdim, DTypeOf<C>::value, result, body, &f);
}

// The same in the compute type of `compute`; f is a generic lambda.
template <int Types, typename F>
Tensor reduce_any(const Tensor& self, IntSpan dims, bool keepdim, DType compute, DType result,
                  const F& f) {
  return visit_compute<Types>(
      compute, [&](auto zero) { return reduce<decltype(zero)>(self, dims, keepdim, result, f); });
}

}  // namespace torchlet::ops
