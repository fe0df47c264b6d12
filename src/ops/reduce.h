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

// f is a generic lambda, called for int64_t, float, double or std::complex<double> by the dtype;
// the flags (elementwise.h) say for which it compiles.
template <int Types, typename F>
Tensor reduce_any(const Tensor& self, IntSpan dims, bool keepdim, DType compute, DType result,
                  F f) {
  switch (compute_kind(compute)) {
    case Compute::kInt:
      if constexpr (Types & kMapInt) return reduce<int64_t>(self, dims, keepdim, result, f);
      break;
    case Compute::kFloat:
      if constexpr (Types & kMapReal) return reduce<float>(self, dims, keepdim, result, f);
      break;
    case Compute::kDouble:
      if constexpr (Types & kMapReal) return reduce<double>(self, dims, keepdim, result, f);
      break;
    case Compute::kComplex:
      if constexpr (Types & kMapComplex) {
        return reduce<std::complex<double>>(self, dims, keepdim, result, f);
      }
      break;
  }
  fail(ErrorCode::kRuntime,
       format("not implemented for '%s'", std::string(dtype_name(compute)).c_str()));
}

}  // namespace torchlet::ops
