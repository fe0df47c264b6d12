// Arithmetic of two tensors, of which the second may be spread over the first.
#pragma once

#include "device/cpu/lower/epilogue_step.h"
#include "kernels/elementwise/elementwise_nhwc.h"

namespace torchlet::cpu {

// A tensor as the matrix that elementwise kernels read, with the strides that it has now: an image,
// rows, or all elements in the order of memory as one row.
struct Matrix {
  TensorId id;
  Form form;  // kFixed: in the order of memory
  int64_t rows, columns, stride;
  DType dtype;

  Operand operand() const { return Operand::fixed(id); }
};

class BinaryStep : public ActivatedStep {
 public:
  struct Second {
    TensorId id;
    kernels::Spread spread = kernels::Spread::kNone;
    int64_t stride = 0, rows_per_batch = 1;
  };
  BinaryStep(kernels::MatrixBinaryOp op, const Matrix& a, const Second& b, const Matrix& y)
      : op_(op), a_(a), y_(y), b_(b) {
    reading(a.operand());
    reading(Operand::fixed(b.id));
    writing_in_place(y.operand());
  }
  const char* kernel() const override {
    return is_float16(a_.dtype) ? "binary_rows_f16" : "binary_rows_f32";
  }
  void run(const Memory& m) const override {
    if (is_float16(a_.dtype)) {
      run_in<Float16>(m, kernels::binary_rows_f16);
    } else {
      run_in<float>(m, kernels::binary_rows_f32);
    }
  }

  const Matrix& first() const { return a_; }
  const Second& second() const { return b_; }
  // Are the pixels of an image multiplied by a number for each channel, and is that all?
  bool scales_channels() const {
    return op_ == kernels::MatrixBinaryOp::kMul && b_.spread == kernels::Spread::kColumns &&
           a_.form == Form::kImage && activation_.kind == kernels::ActivationKind::kNone;
  }

 private:
  template <typename T, typename Function>
  void run_in(const Memory& m, const Function& function) const {
    const kernels::SpreadOperandOf<T> b{m.data<T>(Operand::fixed(b_.id)), b_.spread, b_.stride,
                                        b_.rows_per_batch};
    function(op_, a_.rows, a_.columns, m.data<T>(a_.operand()), a_.stride, b, activation_,
             m.data<T>(y_.operand()), y_.stride);
  }

  kernels::MatrixBinaryOp op_;
  Matrix a_, y_;
  Second b_;
};

}  // namespace torchlet::cpu
