// float_power computes in double precision whatever the inputs are.
#include <cmath>

#include "ops/core/op.h"
#include "ops/math/binary.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

DType wide(bool complex) { return complex ? DType::kComplex128 : DType::kFloat64; }

Tensor power_in(DType dtype, const Tensor& self, const Tensor& exponent) {
  return binary<kMapReal | kMapComplex>(self, exponent, dtype,
                                        [](auto a, auto b) { return std::pow(a, b); });
}

Tensor float_power_tensors(const Tensor& self, const Tensor& exponent) {
  return power_in(wide(is_complex(self.dtype()) || is_complex(exponent.dtype())), self, exponent);
}
Tensor float_power_scalar(const Tensor& self, const Scalar& exponent) {
  const DType dtype = wide(is_complex(self.dtype()) || exponent.is_complex());
  return pow(self.to(dtype), exponent.is_complex() ? exponent : Scalar(exponent.to_double()));
}
Tensor float_power_scalar_tensor(const Scalar& self, const Tensor& exponent) {
  return pow(self, exponent, wide(is_complex(exponent.dtype()) || self.is_complex()));
}

}  // namespace

TORCHLET_OP_WITH(float_power_Tensor_Tensor,
                 inplace("Tensor") | out("Tensor_Tensor_out") | pointwise(DTypeRule::kUnknown),
                 "aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
                 float_power_tensors);
TORCHLET_OP_WITH(float_power_Tensor_Scalar,
                 inplace("Scalar") | out("Tensor_Scalar_out") | pointwise(DTypeRule::kUnknown),
                 "aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
                 float_power_scalar);
TORCHLET_OP_WITH(float_power_Scalar, out("Scalar_out") | pointwise(DTypeRule::kUnknown),
                 "aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
                 float_power_scalar_tensor);

}  // namespace torchlet::ops
