// Arithmetic on two tensors, or a tensor and a number.
#include "ops/elementwise.h"
#include "ops/op.h"

namespace torchlet::ops {
namespace {

Tensor add_as(DType dtype, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (alpha.is_integral() && alpha.to_int() == 1) {
    return map<kMapAll, 2>({self, other}, dtype, [](auto a, auto b) { return a + b; });
  }
  const Tensor factor = scalar_tensor(alpha, dtype);
  return map<kMapAll, 3>({self, other, factor}, dtype,
                         [](auto a, auto b, auto c) { return a + b * c; });
}

Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return add_as(result_type(self, other), self, other, alpha);
}

// A Python number counts least in type promotion, so it is not simply a 0-d tensor.
Tensor add_scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  const DType dtype = result_type(self, other);
  return add_as(dtype, self, scalar_tensor(other, dtype), alpha);
}

}  // namespace

TORCHLET_OP_VARIANTS(add_Tensor, inplace() | out("out"),
                     "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                     add);
TORCHLET_OP_VARIANTS(add_Scalar, inplace() | out("Scalar_out"),
                     "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                     add_scalar);

}  // namespace torchlet::ops
