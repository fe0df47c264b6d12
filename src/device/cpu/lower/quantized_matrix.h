// What the lowerings of quantized operators share: quint8 tensors as kernels read them.
#pragma once

#include "device/cpu/builder.h"
#include "kernels/quantized/elementwise_q8.h"

namespace torchlet::cpu {

// The quantization of a quint8 tensor; Declined for others.
kernels::AffineQ8 affine_of(const PlanBuilder& plan, TensorId id);
// That of a result, from the numbers that an operator is given.
std::shared_ptr<const Quantizer> quantizer_argument(const Call& call, Arg scale, Arg zero_point);
kernels::AffineQ8 affine_of(const Quantizer& quantizer);
// Clamped from the zero point on if the result is rectified.
kernels::OutputQ8 output_q8(const Quantizer& quantizer, bool is_rectified);

// A step that writes quint8, and clamps it.
class StepQ8 : public Step {
 public:
  StepQ8(std::shared_ptr<const Quantizer> quantizer, bool is_rectified)
      : result_(output_q8(*quantizer, is_rectified)), quantizer_(std::move(quantizer)) {}
  bool fuse(const kernels::Activation& activation) final;

 protected:
  const kernels::OutputQ8& result() const { return result_; }

 private:
  kernels::OutputQ8 result_;
  std::shared_ptr<const Quantizer> quantizer_;
};

// A tensor as the matrix that elementwise kernels read: an image, rows, or all elements in the
// order of memory as one row, whose operand is fixed.
struct Grid {
  Operand operand;
  int64_t rows = 0, columns = 0;

  bool is_flat() const { return operand.form() == Form::kFixed; }
  int64_t stride(const Memory& m) const { return is_flat() ? columns : m.stride(operand); }
};
Grid grid_of(const NhwcImage& image);
Grid as_grid(PlanBuilder& plan, TensorId id);
// The same order of elements for both, which have the same sizes.
std::pair<Grid, Grid> as_grids(PlanBuilder& plan, TensorId a, TensorId b);
// For a result in the order of `like`.
Grid result_grid(PlanBuilder& plan, const Grid& like, DType dtype,
                 std::shared_ptr<const Quantizer> quantizer);

// y = table[x], elsewhere than x.
void add_table_step(PlanBuilder& plan, const Grid& x, const Grid& y, const Tensor& table);
// f(quint8 of every integer, quantized as `affine`), a quint8 tensor of 256 elements.
Tensor every_byte(std::shared_ptr<const Quantizer> quantizer);

TensorId add_dequantize(PlanBuilder& plan, TensorId id);
TensorId add_quantize(PlanBuilder& plan, TensorId id, std::shared_ptr<const Quantizer> quantizer);

}  // namespace torchlet::cpu
