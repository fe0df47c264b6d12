// Scaffolding for operators of two operands, which come as two tensors or as a tensor and a number.
#pragma once

#include "ops/engines/elementwise.h"

namespace torchlet::ops {

// Computes two broadcast operands in the dtype that their types promote to.
using BinaryFn = Tensor (*)(const Tensor& self, const Tensor& other, DType dtype);

// The forms of an operator: Tensor x Tensor, Tensor x Scalar, Scalar x Tensor. A Python number
// counts least in type promotion, so it is not simply a 0-d tensor.
template <BinaryFn Fn>
Tensor tensors(const Tensor& self, const Tensor& other) {
  return Fn(self, other, result_type(self, other));
}
template <BinaryFn Fn>
Tensor with_scalar(const Tensor& self, const Scalar& other) {
  const DType dtype = result_type(self, other);
  return Fn(self, scalar_tensor(other, dtype), dtype);
}
template <BinaryFn Fn>
Tensor scalar_first(const Scalar& self, const Tensor& other) {
  const DType dtype = result_type(other, self);
  return Fn(scalar_tensor(self, dtype), other, dtype);
}

// A 0-d tensor of a wider integer type takes part as a value of `dtype`: 300 is 44 among uint8.
inline Tensor operand(const Tensor& tensor, DType dtype) {
  return is_integral(dtype, false) && tensor.dim() == 0 ? tensor.to(dtype) : tensor;
}

// map() and map_bool() of two operands in `dtype`; integers give the default float type if Float.
template <int Types, bool Float = false, typename F>
Tensor binary(const Tensor& self, const Tensor& other, DType dtype, F f) {
  const DType result = Float ? to_float_type(dtype) : dtype;
  return map<Types, 2>({operand(self, result), operand(other, result)}, result, f);
}
template <int Types, typename F>
Tensor binary_bool(const Tensor& self, const Tensor& other, DType dtype, F f) {
  return map_bool<Types, 2>({operand(self, dtype), operand(other, dtype)}, dtype, f);
}

}  // namespace torchlet::ops
