// Elementwise functions of Float16: their time is that of memory, so pieces that stay in the
// first-level cache are widened, computed in float32 and rounded again.
#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/simd/scratch.h"

namespace torchlet::kernels {
namespace {

constexpr int64_t kPiece = 2048;

// Some columns of some rows.
struct Piece {
  int64_t row, rows, column, columns;

  void load(const Float16* x, int64_t stride, float* to) const {
    if (stride == columns) return to_float32(x + row * stride, to, rows * columns);
    for (int64_t r = 0; r < rows; ++r) {
      to_float32(x + (row + r) * stride + column, to + r * columns, columns);
    }
  }
  void store(const float* from, Float16* y, int64_t stride) const {
    if (stride == columns) return to_float16(from, y + row * stride, rows * columns);
    for (int64_t r = 0; r < rows; ++r) {
      to_float16(from + r * columns, y + (row + r) * stride + column, columns);
    }
  }
};

// Calls body(piece) for all of a matrix, no piece with rows on both sides of a multiple of `unit`.
template <typename Body>
void for_each_piece(int64_t rows, int64_t columns, int64_t unit, const Body& body) {
  const int64_t width = std::min(columns, kPiece), height = std::min(kPiece / width, unit);
  const int64_t columns_pieces = (columns + width - 1) / width;
  const int64_t unit_pieces = (unit + height - 1) / height;
  const int64_t units = (rows + unit - 1) / unit;
  parallel_for(units * unit_pieces * columns_pieces, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % columns_pieces * width, index = i / columns_pieces;
      const int64_t first = index / unit_pieces * unit, row = first + index % unit_pieces * height;
      const int64_t last = std::min({row + height, first + unit, rows});
      if (row < last) body(Piece{row, last - row, column, std::min(width, columns - column)});
    }
  });
}

// y = function(x), which is given values to change.
template <typename Function>
void map(int64_t rows, int64_t columns, const Float16* x, int64_t x_stride, Float16* y,
         int64_t y_stride, const Function& function) {
  for_each_piece(rows, columns, rows, [&](const Piece& piece) {
    alignas(64) float values[kPiece];
    piece.load(x, x_stride, values);
    function(values, piece.rows * piece.columns);
    piece.store(values, y, y_stride);
  });
}

}  // namespace

void unary_rows_f16(MatrixUnaryOp op, int64_t rows, int64_t columns, const Float16* x,
                    int64_t x_stride, Float16* y, int64_t y_stride, float alpha, float beta,
                    float gamma) {
  map(rows, columns, x, x_stride, y, y_stride, [&](float* values, int64_t count) {
    unary_rows_f32(op, 1, count, values, count, values, count, alpha, beta, gamma);
  });
}

void affine_rows_f16(int64_t rows, int64_t columns, const Float16* x, int64_t x_stride, float scale,
                     float shift, Float16* y, int64_t y_stride) {
  map(rows, columns, x, x_stride, y, y_stride, [&](float* values, int64_t count) {
    affine_rows_f32(1, count, values, count, scale, shift, values, count);
  });
}

void activation_rows_f16(const Activation& activation, int64_t rows, int64_t columns,
                         const Float16* x, int64_t x_stride, Float16* y, int64_t y_stride) {
  map(rows, columns, x, x_stride, y, y_stride,
      [&](float* values, int64_t count) { activate_f32(activation, values, count, 1, count); });
}

void binary_rows_f16(MatrixBinaryOp op, int64_t rows, int64_t columns, const Float16* a,
                     int64_t a_stride, const SpreadOperandOf<Float16>& b,
                     const Activation& activation, Float16* y, int64_t y_stride) {
  const bool by_batch = b.spread == Spread::kBatchColumns;
  for_each_piece(rows, columns, by_batch ? b.rows_per_batch : rows, [&](const Piece& piece) {
    alignas(64) float first[kPiece], second[kPiece];
    piece.load(a, a_stride, first);
    SpreadOperand other{second, by_batch ? Spread::kColumns : b.spread, piece.columns};
    switch (b.spread) {
      case Spread::kNone:
        piece.load(b.data, b.stride, second);
        break;
      case Spread::kRows:
        other.stride = 1;
        for (int64_t r = 0; r < piece.rows; ++r) {
          to_float32(b.data + (piece.row + r) * b.stride, second + r, 1);
        }
        break;
      case Spread::kScalar:
        to_float32(b.data, second, 1);
        break;
      default: {
        const int64_t batch = by_batch ? piece.row / b.rows_per_batch : 0;
        to_float32(b.data + batch * b.stride + piece.column, second, piece.columns);
      }
    }
    binary_rows_f32(op, piece.rows, piece.columns, first, piece.columns, other, activation, first,
                    piece.columns);
    piece.store(first, y, y_stride);
  });
}

void scale_shift_rows_f16(int64_t rows, int64_t columns, const Float16* x, int64_t x_stride,
                          const float* scale, const float* shift, const Activation& activation,
                          Float16* y, int64_t y_stride) {
  for_each_piece(rows, columns, rows, [&](const Piece& piece) {
    alignas(64) float values[kPiece];
    piece.load(x, x_stride, values);
    scale_shift_rows_f32(piece.rows, piece.columns, values, piece.columns, scale + piece.column,
                         shift + piece.column, activation, values, piece.columns);
    piece.store(values, y, y_stride);
  });
}

void finish_rows(const EpilogueF16& epilogue, const Float16* residual, Float16* y, int64_t stride,
                 int64_t rows, int64_t columns) {
  alignas(64) float values[kPiece], other[kPiece];
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; column += kPiece) {
      const int64_t count = std::min(kPiece, columns - column);
      Float16* to = y + row * stride + column;
      to_float32(to, values, count);
      if (residual) {
        to_float32(residual + row * epilogue.residual_stride + column, other, count);
      }
      const auto add = [&](bool last) {
        if (!residual || last != epilogue.residual_last) return;
        for (int64_t i = 0; i < count; ++i) values[i] += other[i];
      };
      add(false);
      activate_f32(epilogue.activation, values, count, 1, count);
      add(true);
      to_float16(values, to, count);
    }
  }
}

}  // namespace torchlet::kernels
