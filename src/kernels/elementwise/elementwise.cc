#include "kernels/elementwise/elementwise.h"

#include "kernels/elementwise/elementwise_nhwc.h"

namespace torchlet::kernels {
namespace {

void activation(ActivationKind kind, const float* x, float* y, int64_t n, float alpha = 0,
                float beta = 0) {
  activation_rows_f32({kind, alpha, beta}, 1, n, x, n, y, n);
}
void unary(MatrixUnaryOp op, const float* x, float* y, int64_t n) {
  unary_rows_f32(op, 1, n, x, n, y, n);
}

}  // namespace

void clamp_f32(const float* x, float* y, int64_t n, float alpha, float beta) {
  activation(ActivationKind::kClamp, x, y, n, alpha, beta);
}
void leaky_relu_f32(const float* x, float* y, int64_t n, float alpha, float /*beta*/) {
  activation(ActivationKind::kLeakyRelu, x, y, n, alpha);
}
void hardsigmoid_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  activation(ActivationKind::kHardsigmoid, x, y, n);
}
void hardswish_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  activation(ActivationKind::kHardswish, x, y, n);
}
void exp_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  unary(MatrixUnaryOp::kExp, x, y, n);
}
void erf_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  unary(MatrixUnaryOp::kErf, x, y, n);
}
void tanh_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  activation(ActivationKind::kTanh, x, y, n);
}
void gelu_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  activation(ActivationKind::kGelu, x, y, n);
}
void gelu_tanh_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  activation(ActivationKind::kGeluTanh, x, y, n);
}

}  // namespace torchlet::kernels
