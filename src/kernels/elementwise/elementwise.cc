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

void exp_in_place(float* x, int64_t n) { unary_rows_f32(MatrixUnaryOp::kExp, 1, n, x, n, x, n); }
void erf_in_place(float* x, int64_t n) { unary_rows_f32(MatrixUnaryOp::kErf, 1, n, x, n, x, n); }
void tanh_in_place(float* x, int64_t n) {
  activation_rows_f32({ActivationKind::kTanh}, 1, n, x, n, x, n);
}

// x (1 + y) / 2
float half_of_one_plus(float x, float y) {
  const float half = 0.5f * x;
  return half * y + half;
}
float negative(float x) { return -x; }

}  // namespace

void unary_f32(UnaryOp op, const float* x, float* y, int64_t n, float alpha, float beta) {
  const auto activation = [&](ActivationKind kind) {
    activation_rows_f32({kind, alpha, beta}, 1, n, x, n, y, n);
  };
  const auto unary = [&](MatrixUnaryOp unary_op) {
    unary_rows_f32(unary_op, 1, n, x, n, y, n, alpha, 1, 1);
  };
  switch (op) {
    case UnaryOp::kClamp:
      return activation(ActivationKind::kClamp);
    case UnaryOp::kLeakyRelu:
      return activation(ActivationKind::kLeakyRelu);
    case UnaryOp::kElu:
      return unary(MatrixUnaryOp::kElu);
    case UnaryOp::kHardSigmoid:
      return activation(ActivationKind::kHardsigmoid);
    case UnaryOp::kHardSwish:
      return activation(ActivationKind::kHardswish);
    case UnaryOp::kExp:
      return unary(MatrixUnaryOp::kExp);
    case UnaryOp::kErf:
      return unary(MatrixUnaryOp::kErf);
    case UnaryOp::kTanh:
      return activation(ActivationKind::kTanh);
    case UnaryOp::kSigmoid:
      return composed(x, y, n, negative, exp_in_place, [](float, float e) { return 1 / (1 + e); });
    case UnaryOp::kSilu:
      return composed(x, y, n, negative, exp_in_place,
                      [](float v, float e) { return v / (1 + e); });
    case UnaryOp::kGelu:
      return composed(
          x, y, n, [](float v) { return v * 0.707106781f; }, erf_in_place, half_of_one_plus);
    case UnaryOp::kGeluTanh:
      return composed(
          x, y, n, [](float v) { return 0.797884561f * (v + 0.044715f * (v * v * v)); },
          tanh_in_place, half_of_one_plus);
  }
}

}  // namespace torchlet::kernels
