#include "kernels/elementwise/elementwise.h"

#include <algorithm>

#include "base/thread_pool.h"
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

void multiply(const float* x, const float* factors, float* y, int64_t n) {
  binary_rows_f32(MatrixBinaryOp::kMul, 1, n, x, n, {.data = factors, .stride = n}, {}, y, n);
}

// y = x (1 + inner(x)) / 2, in pieces that stay in the first-level cache.
template <typename Inner>
void by_pieces(const float* x, float* y, int64_t n, const Inner& inner) {
  constexpr int64_t kPiece = 1024, kElementsPerTask = int64_t{1} << 14;
  parallel_for(n, kElementsPerTask, [&](int64_t begin, int64_t end) {
    float factors[kPiece];
    for (int64_t at = begin; at < end; at += kPiece) {
      const int64_t count = std::min(kPiece, end - at);
      inner(x + at, factors, count);
      affine_rows_f32(1, count, factors, count, 0.5f, 0.5f, factors, count);
      multiply(x + at, factors, y + at, count);
    }
  });
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
// As exact as their functions, for the reference: ActivationKind's are for layers.
void gelu_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  by_pieces(x, y, n, [](const float* from, float* inner, int64_t count) {
    affine_rows_f32(1, count, from, count, 0.707106781f, 0, inner, count);
    unary(MatrixUnaryOp::kErf, inner, inner, count);
  });
}
void gelu_tanh_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  by_pieces(x, y, n, [](const float* from, float* inner, int64_t count) {
    constexpr float kScale = 0.797884561f;  // sqrt(2 / pi)
    unary(MatrixUnaryOp::kSquare, from, inner, count);
    affine_rows_f32(1, count, inner, count, 0.044715f * kScale, kScale, inner, count);
    multiply(from, inner, inner, count);
    activation(ActivationKind::kTanh, inner, inner, count);
  });
}

}  // namespace torchlet::kernels
