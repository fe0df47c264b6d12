// The float32 micro-kernels as block functions of the elementwise engine: any strides, broadcasting
// and the 16-bit floats come with it.
#pragma once

#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "ops/engines/elementwise.h"

namespace torchlet::ops {

// Does compute_kind() say float, so that the functions below may be used?
inline bool has_kernel(DType dtype) { return compute_kind(dtype) == Compute::kFloat; }

inline Tensor kernel_map(kernels::UnaryFunction* kernel, const Tensor& self, DType dtype,
                         float alpha = 0, float beta = 0) {
  const Tensor out = empty_like(self, dtype);
  elementwise(out, {&self, 1}, DType::kFloat32, DType::kFloat32,
              [=](void* y, const void* const* in, int64_t count) {
                kernel(static_cast<const float*>(in[0]), static_cast<float*>(y), count, alpha,
                       beta);
              });
  return out;
}

// alpha, beta and gamma of unary_rows_f32().
struct UnaryParameters {
  float alpha = 0, beta = 0, gamma = 1;
};
inline Tensor kernel_map(kernels::MatrixUnaryOp op, const Tensor& self, DType dtype,
                         const UnaryParameters& p = {}) {
  const Tensor out = empty_like(self, dtype);
  elementwise(out, {&self, 1}, DType::kFloat32, DType::kFloat32,
              [op, p](void* y, const void* const* in, int64_t count) {
                kernels::unary_rows_f32(op, 1, count, static_cast<const float*>(in[0]), count,
                                        static_cast<float*>(y), count, p.alpha, p.beta, p.gamma);
              });
  return out;
}

inline Tensor kernel_map(kernels::MatrixBinaryOp op, const Tensor& self, const Tensor& other,
                         DType dtype, const kernels::Activation& activation = {}) {
  const Tensor inputs[] = {self, other};
  const Tensor out = empty_result(inputs, dtype);
  elementwise(out, inputs, DType::kFloat32, DType::kFloat32,
              [=](void* y, const void* const* in, int64_t count) {
                kernels::binary_rows_f32(
                    op, 1, count, static_cast<const float*>(in[0]), count,
                    {.data = static_cast<const float*>(in[1]), .stride = count}, activation,
                    static_cast<float*>(y), count);
              });
  return out;
}

}  // namespace torchlet::ops
