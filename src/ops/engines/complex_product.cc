#include "ops/engines/complex_product.h"

namespace torchlet::ops {

Tensor mul_complex64(const Tensor& self, const Tensor& other) {
  const Tensor inputs[] = {self, other};
  const Tensor out = empty_result(inputs, DType::kComplex64);
  elementwise(out, inputs, DType::kComplex64, DType::kComplex64,
              [](void* y, const void* const* in, int64_t count) {
                const float* a = static_cast<const float*>(in[0]);
                const float* b = static_cast<const float*>(in[1]);
                float* to = static_cast<float*>(y);
                for (int64_t i = 0; i < 2 * count; i += 2) {
                  const float real = a[i] * b[i] - a[i + 1] * b[i + 1];
                  to[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
                  to[i] = real;
                }
              });
  return out;
}

}  // namespace torchlet::ops
