// Operators that loop over their own elements do so in one of four compute types; these helpers
// pick it and bring tensors into it.
#pragma once

#include "ops/engines/elementwise.h"

namespace torchlet::ops {

// Calls f(C()) with the type C that `dtype` is computed in: int64_t, float, double or
// std::complex<double>. `Types` (MapTypes) says which of them f can be compiled for; an Error names
// `op` and the dtype otherwise.
template <int Types, typename F>
auto compute_as(DType dtype, const char* op, F f) {
  switch (compute_kind(dtype)) {
    case Compute::kInt:
      if constexpr (is_compiled<int64_t>(Types)) return f(int64_t());
      break;
    case Compute::kFloat:
      if constexpr (is_compiled<float>(Types)) return f(float());
      break;
    case Compute::kDouble:
      if constexpr (is_compiled<double>(Types)) return f(double());
      break;
    case Compute::kComplex:
      if constexpr (is_compiled<std::complex<double>>(Types)) return f(std::complex<double>());
      break;
  }
  detail::fail_not_implemented(dtype, op);
}

// Error unless an optional operand is undefined or has the dtype of the operator's input.
inline void expect_dtype(const Tensor& operand, DType dtype) {
  TORCHLET_CHECK(!operand.defined() || operand.dtype() == dtype,
                 "expected scalar type %s but found %s", dtype_name(dtype).data(),
                 dtype_name(operand.dtype()).data());
}

// The tensor's elements as contiguous values of C; the tensor itself if it already is that.
template <typename C>
Tensor dense_as(const Tensor& tensor) {
  if (tensor.dtype() == DTypeOf<C>::value) return tensor.contiguous();
  Tensor copy = empty(tensor.sizes(), DTypeOf<C>::value);
  // Elements are put in order, and then converted, by kernels; both at once is done one by one.
  if constexpr (selection::kHasConversions) {
    copy.copy_(tensor.contiguous());
  } else {
    copy.copy_(tensor);
  }
  return copy;
}

template <typename C>
C scalar_as(const Scalar& scalar) {
  if constexpr (std::is_same_v<C, std::complex<double>>) {
    return scalar.to_complex();
  } else {
    return scalar.to<C>();
  }
}

// map() for code that has chosen its compute type C already: a result of `dtype` from f(C...).
template <typename C, size_t N, typename F>
Tensor map_in(const Operands<N>& inputs, DType dtype, const F& f) {
  return detail::map_blocks(inputs, dtype, DTypeOf<C>::value, DTypeOf<C>::value,
                            &detail::map_block<C, C, N, F>, false, &f);
}

// The data of a contiguous tensor that holds C; null if undefined.
template <typename C>
const C* const_data(const Tensor& tensor) {
  return tensor.defined() ? static_cast<const C*>(tensor.raw_data()) : nullptr;
}

}  // namespace torchlet::ops
