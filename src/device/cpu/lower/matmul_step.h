// The step that matrix products have in common.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/lower/lowering.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tiny.h"

namespace torchlet::cpu {

// A stack of matrices [batch..., rows, cols].
struct Matrices {
  TensorId id;
  int64_t batch, batch_stride, rows, cols, row_stride, col_stride;
  Operand operand() const { return Operand::fixed(id); }
  // Without gaps: in row-major order, or, within each matrix, in the transposed one.
  bool is_dense() const { return is_row_major() || follows(rows, row_stride, cols, col_stride); }
  bool is_row_major() const { return follows(cols, col_stride, rows, row_stride); }

 private:
  bool follows(int64_t inner, int64_t step, int64_t outer, int64_t outer_step) const {
    return batch_stride == rows * cols && (inner == 1 || step == 1) &&
           (outer == 1 || outer_step == inner);
  }
};

// c = a b, float32; the columns of c lie together.
class MatmulStep : public Step {
 public:
  MatmulStep(const Matrices& a, const Matrices& b, const Matrices& c) : a_(a), b_(b), c_(c) {
    reading(a.operand());
    reading(b.operand());
    writing(c.operand());
  }
  const char* kernel() const override { return is_tiny() ? "gemm_tiny_f32" : "gemm_f32"; }
  double flops() const override {
    return 2.0 * static_cast<double>(c_.batch * c_.rows * c_.cols * a_.cols);
  }
  void run(const Memory& m) const override {
    const float* a = m.data<float>(a_.operand());
    const float* b = m.data<float>(b_.operand());
    float* c = m.data<float>(c_.operand());
    const auto product = [&](int64_t i) {
      kernels::gemm_f32(c_.rows, c_.cols, a_.cols,
                        {a + i * a_.batch_stride, a_.row_stride, a_.col_stride},
                        {b + i * b_.batch_stride, b_.row_stride, b_.col_stride},
                        c + i * c_.batch_stride, c_.row_stride);
    };
    if (c_.batch == 1) return product(0);
    if constexpr (selection::kHasConversions) {
      if (is_tiny()) {
        return gemm_tiny(products(), {a, a_.row_stride, a_.col_stride},
                         {b, b_.row_stride, b_.col_stride}, c);
      }
    }
    parallel_for(c_.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) product(i);
    });
  }

 private:
  kernels::TinyProducts products() const { return {c_.batch, c_.rows, c_.cols, a_.cols}; }
  bool is_tiny() const {
    return selection::kHasConversions && a_.is_dense() && b_.is_dense() && c_.is_row_major() &&
           suits_tiny(products());
  }

  Matrices a_, b_, c_;
};

}  // namespace torchlet::cpu
