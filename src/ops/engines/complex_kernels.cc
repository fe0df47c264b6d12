#include "ops/engines/complex_kernels.h"

#include "kernels/elementwise/complex.h"

namespace torchlet::ops {
namespace {

template <typename Kernel>
Tensor binary(Kernel kernel, const Tensor& self, const Tensor& other) {
  const Tensor inputs[] = {self, other};
  const Tensor out = empty_result(inputs, DType::kComplex64);
  elementwise(out, inputs, DType::kComplex64, DType::kComplex64,
              [kernel](void* y, const void* const* in, int64_t count) {
                kernel(static_cast<const float*>(in[0]), static_cast<const float*>(in[1]),
                       static_cast<float*>(y), count);
              });
  return out;
}

}  // namespace

Tensor mul_complex64(const Tensor& self, const Tensor& other) {
  return binary(kernels::multiply_complex, self, other);
}

Tensor div_complex64(const Tensor& self, const Tensor& other) {
  return binary(kernels::divide_complex, self, other);
}

Tensor conj_complex64(const Tensor& self) {
  const Tensor out = empty_result({&self, 1}, DType::kComplex64);
  elementwise(out, {&self, 1}, DType::kComplex64, DType::kComplex64,
              [](void* y, const void* const* in, int64_t count) {
                kernels::conjugate_complex(static_cast<const float*>(in[0]), static_cast<float*>(y),
                                           count);
              });
  return out;
}

Tensor abs_complex64(const Tensor& self) {
  const Tensor out = empty_like(self, DType::kFloat32);
  elementwise(out, {&self, 1}, DType::kFloat32, DType::kComplex64,
              [](void* y, const void* const* in, int64_t count) {
                kernels::absolute_complex(static_cast<const float*>(in[0]), static_cast<float*>(y),
                                          count);
              });
  return out;
}

}  // namespace torchlet::ops
