// The engine under reductions and other operators that look at whole runs along some dimensions.
#pragma once

#include "base/function_ref.h"
#include "ops/common.h"

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

}  // namespace torchlet::ops
