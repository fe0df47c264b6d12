#pragma once

#include <cstdint>

#include "kernels/nhwc.h"

namespace torchlet::kernels {

// Functions of matrices [rows, columns] whose rows are `stride` elements apart: images with their
// pixels as rows, or any tensor as one row. An output may be an input of the same stride; it may
// not overlap one otherwise. NaN goes through every function, as in PyTorch. All run on the threads
// of base/thread_pool.

enum class MatrixUnaryOp : uint8_t {
  kAbs,
  kNeg,
  kSquare,
  kCube,
  kReciprocal,
  kSqrt,
  kRsqrt,
  kExp,    // 1 ulp
  kExpm1,  // 4 ulp
  kLog,    // 2 ulp
  kLog1p,  // 3 ulp
  kErf,    // 1.2 ulp
  kSin,    // within 2e-7 for |x| <= 3e4, std::sin beyond
  kCos,    // the same
  kFloor,
  kCeil,
  kTrunc,
  kRound,  // half to even
  kSign,
  kElu,  // x > 0 ? scale x : scale alpha (e^(x beta) - 1): alpha, beta = input scale, gamma = scale
  kSoftplus,    // x alpha > beta ? x : log(1 + e^(x alpha)) / alpha
  kMish,        // x tanh(log(1 + e^x))
  kSoftsign,    // x / (1 + |x|)
  kThreshold,   // x > alpha ? x : beta
  kHardshrink,  // |x| > alpha ? x : 0
  kSoftshrink,  // sign(x) max(|x| - alpha, 0)
};

// y[r, c] = op(x[r, c]).
void unary_rows_f32(MatrixUnaryOp op, int64_t rows, int64_t columns, const float* x,
                    int64_t x_stride, float* y, int64_t y_stride, float alpha = 0, float beta = 0,
                    float gamma = 1);

// y[r, c] = scale x[r, c] + shift.
void affine_rows_f32(int64_t rows, int64_t columns, const float* x, int64_t x_stride, float scale,
                     float shift, float* y, int64_t y_stride);

// y[r, c] = activation(x[r, c]); kNone copies.
void activation_rows_f32(const Activation& activation, int64_t rows, int64_t columns,
                         const float* x, int64_t x_stride, float* y, int64_t y_stride);

// y[r, c] = activation(y[r, c]), on the calling thread.
void activate_f32(const Activation& activation, float* y, int64_t y_stride, int64_t rows,
                  int64_t columns);

enum class MatrixBinaryOp : uint8_t {
  kAdd,
  kSub,
  kRsub,  // b - a
  kMul,
  kDiv,
  kRdiv,  // b / a
  kMax,
  kMin,
  kPrelu,  // a > 0 ? a : a b
};

// The same with the operands in the other order; not of kPrelu.
constexpr MatrixBinaryOp reversed(MatrixBinaryOp op) {
  switch (op) {
    case MatrixBinaryOp::kSub:
      return MatrixBinaryOp::kRsub;
    case MatrixBinaryOp::kRsub:
      return MatrixBinaryOp::kSub;
    case MatrixBinaryOp::kDiv:
      return MatrixBinaryOp::kRdiv;
    case MatrixBinaryOp::kRdiv:
      return MatrixBinaryOp::kDiv;
    default:
      return op;
  }
}

// How the second operand is spread over the matrix.
enum class Spread : uint8_t {
  kNone,         // [rows, columns]
  kColumns,      // [columns]: one value per channel
  kRows,         // [rows, 1]: one value per pixel
  kScalar,       // [1]
  kBatchColumns  // [rows / rows_per_batch, columns]: one value per picture and channel
};

template <typename T>
struct SpreadOperandOf {
  const T* data;
  Spread spread = Spread::kNone;
  int64_t stride = 0;          // from row to row of its own, for kNone, kRows and kBatchColumns
  int64_t rows_per_batch = 1;  // for kBatchColumns
};
using SpreadOperand = SpreadOperandOf<float>;

// y[r, c] = activation(op(a[r, c], b[r, c])).
void binary_rows_f32(MatrixBinaryOp op, int64_t rows, int64_t columns, const float* a,
                     int64_t a_stride, const SpreadOperand& b, const Activation& activation,
                     float* y, int64_t y_stride);

// y[r, c] = activation(x[r, c] * scale[c] + shift[c]): a batch normalization.
void scale_shift_rows_f32(int64_t rows, int64_t columns, const float* x, int64_t x_stride,
                          const float* scale, const float* shift, const Activation& activation,
                          float* y, int64_t y_stride);
// The same of contiguous planes [batch, channels, pixels], which may be the result.
void scale_shift_planes_f32(int64_t batch, int64_t channels, int64_t pixels, const float* x,
                            const float* scale, const float* shift, const Activation& activation,
                            float* y);

// The same of matrices in Float16 (kernels/half/float16.h), computed in float32 piece by piece.
void unary_rows_f16(MatrixUnaryOp op, int64_t rows, int64_t columns, const Float16* x,
                    int64_t x_stride, Float16* y, int64_t y_stride, float alpha = 0, float beta = 0,
                    float gamma = 1);
void affine_rows_f16(int64_t rows, int64_t columns, const Float16* x, int64_t x_stride, float scale,
                     float shift, Float16* y, int64_t y_stride);
void activation_rows_f16(const Activation& activation, int64_t rows, int64_t columns,
                         const Float16* x, int64_t x_stride, Float16* y, int64_t y_stride);
void binary_rows_f16(MatrixBinaryOp op, int64_t rows, int64_t columns, const Float16* a,
                     int64_t a_stride, const SpreadOperandOf<Float16>& b,
                     const Activation& activation, Float16* y, int64_t y_stride);
void scale_shift_rows_f16(int64_t rows, int64_t columns, const Float16* x, int64_t x_stride,
                          const float* scale, const float* shift, const Activation& activation,
                          Float16* y, int64_t y_stride);

// The rest of an epilogue on a matrix that holds sum + bias, on the calling thread. `residual` is
// that of the first element, or null, and not `y` itself.
void finish_rows(const EpilogueF16& epilogue, const Float16* residual, Float16* y, int64_t stride,
                 int64_t rows, int64_t columns);

}  // namespace torchlet::kernels
