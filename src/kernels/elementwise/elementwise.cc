#include "kernels/elementwise/elementwise.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/elementwise/elementwise_nhwc.h"

namespace torchlet::kernels {
namespace {

constexpr int64_t kElementsPerTask = int64_t{1} << 14;
constexpr int64_t kPiece = 1024;  // stays in the first-level cache

// y[i] = finish(x[i], op(prepare(x[i]))), piece by piece.
template <typename Prepare, typename Function, typename Finish>
void composed(const float* x, float* y, int64_t n, const Prepare& prepare, const Function& function,
              const Finish& finish) {
  parallel_for(n, kElementsPerTask, [&](int64_t begin, int64_t end) {
    float inner[kPiece];
    for (int64_t at = begin; at < end; at += kPiece) {
      const int64_t count = std::min(kPiece, end - at);
      for (int64_t i = 0; i < count; ++i) inner[i] = prepare(x[at + i]);
      function(inner, count);
      for (int64_t i = 0; i < count; ++i) y[at + i] = finish(x[at + i], inner[i]);
    }
  });
}

void activation(ActivationKind kind, const float* x, float* y, int64_t n, float alpha = 0,
                float beta = 0) {
  activation_rows_f32({kind, alpha, beta}, 1, n, x, n, y, n);
}
void unary(MatrixUnaryOp op, const float* x, float* y, int64_t n) {
  unary_rows_f32(op, 1, n, x, n, y, n);
}

void erf_in_place(float* x, int64_t n) { unary(MatrixUnaryOp::kErf, x, x, n); }
void tanh_in_place(float* x, int64_t n) { activation(ActivationKind::kTanh, x, x, n); }

// x (1 + y) / 2
float half_of_one_plus(float x, float y) {
  const float half = 0.5f * x;
  return half * y + half;
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
  composed(
      x, y, n, [](float v) { return v * 0.707106781f; }, erf_in_place, half_of_one_plus);
}
void gelu_tanh_f32(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  const auto inner = [](float v) { return 0.797884561f * (v + 0.044715f * (v * v * v)); };
  composed(x, y, n, inner, tanh_in_place, half_of_one_plus);
}

}  // namespace torchlet::kernels
