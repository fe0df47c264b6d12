#include "device/cpu/lower/quantized_matrix.h"

#include <algorithm>
#include <array>
#include <limits>

#include "ops/core/common.h"
#include "ops/engines/quantize.h"

namespace torchlet::cpu {

using kernels::AffineQ8;
using kernels::OutputQ8;

AffineQ8 affine_of(const Quantizer& quantizer) {
  if (!quantizer.per_tensor() || quantizer.zero_point < 0 || quantizer.zero_point > 255) {
    decline("an unusual quantization");
  }
  return {static_cast<float>(quantizer.scale), static_cast<uint8_t>(quantizer.zero_point)};
}

AffineQ8 affine_of(const PlanBuilder& plan, TensorId id) {
  const PlanTensor& t = plan.info(id);
  if (t.dtype != DType::kQUInt8 || !t.quantizer) decline("no quint8 tensor");
  return affine_of(*t.quantizer);
}

std::shared_ptr<const Quantizer> quantizer_argument(const Call& call, Arg scale, Arg zero_point) {
  return per_tensor_quantizer(call.known_double(scale),
                              static_cast<int64_t>(call.known_double(zero_point)));
}

OutputQ8 output_q8(const Quantizer& quantizer, bool is_rectified) {
  const uint8_t zero = affine_of(quantizer).zero_point;
  return {zero, is_rectified ? zero : uint8_t{0}, 255};
}

// A byte that stands for a number beyond a bound becomes the one that stands for the bound, as if
// the numbers were clamped.
bool StepQ8::fuse(const kernels::Activation& activation) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool is_range = activation.low <= activation.high;  // of numbers
  if (activation.kind != kernels::ActivationKind::kClamp || !is_range) return false;
  const auto byte_of = [&](float bound) {
    const Tensor real = ops::full(IntArray{1}, Scalar(bound), DType::kFloat32);
    return *static_cast<const uint8_t*>(ops::quantize(real, DType::kQUInt8, quantizer_).raw_data());
  };
  const bool has_low = activation.low > -kInfinity, has_high = activation.high < kInfinity;
  const uint8_t low = std::max(result_.low, has_low ? byte_of(activation.low) : uint8_t{0});
  const uint8_t high = std::min(result_.high, has_high ? byte_of(activation.high) : uint8_t{255});
  if (low > high) return false;
  result_.low = low;
  result_.high = high;
  return true;
}

// ---- forms ----

namespace {

bool is_dense(const PlanTensor& t) { return is_non_overlapping_and_dense(t.sizes, t.strides); }

Grid flat_grid(const PlanBuilder& plan, TensorId id) {
  return {Operand::fixed(id), 1, plan.info(id).numel()};
}

}  // namespace

Grid grid_of(const NhwcImage& image) { return {image, image.pixels(), image.c}; }

Grid as_grid(PlanBuilder& plan, TensorId id) {
  if (plan.info(id).numel() == 0) decline("an empty tensor");
  if (const auto image = plan.image_view(id)) return grid_of(*image);
  if (is_dense(plan.info(id))) return flat_grid(plan, id);
  const Rows rows = plan.as_rows(id);
  return {rows, rows.rows, rows.cols};
}

std::pair<Grid, Grid> as_grids(PlanBuilder& plan, TensorId a, TensorId b) {
  if (plan.info(a).numel() == 0) decline("an empty tensor");
  if (plan.image_view(a) || plan.image_view(b)) {
    const int64_t dim = plan.info(a).dim();
    const Grid first = grid_of(plan.as_image(a, dim));
    return {first, grid_of(plan.as_image(b, dim))};
  }
  if (!is_dense(plan.info(a)) || !(plan.info(a).strides == plan.info(b).strides)) {
    a = plan.contiguous(a);
    b = plan.contiguous(b);
  }
  return {flat_grid(plan, a), flat_grid(plan, b)};
}

Grid result_grid(PlanBuilder& plan, const Grid& like, DType dtype,
                 std::shared_ptr<const Quantizer> quantizer) {
  const PlanTensor from = plan.info(like.operand.id());
  if (like.operand.form() == Form::kImage) {
    return grid_of(plan.new_image(dtype, from.sizes, std::move(quantizer)));
  }
  if (like.is_flat()) {
    return flat_grid(plan, plan.new_tensor(dtype, from.sizes, from.strides, std::move(quantizer)));
  }
  const Rows rows = *plan.rows_view(plan.new_contiguous(dtype, from.sizes, std::move(quantizer)));
  return {rows, rows.rows, rows.cols};
}

// ---- steps ----

namespace {

class TableStep : public Step {
 public:
  TableStep(const Grid& x, const Grid& y, const Tensor& table) : x_(x), y_(y) {
    reading(x.operand);
    writing(y.operand);
    const uint8_t* bytes = static_cast<const uint8_t*>(table.raw_data());
    std::copy_n(bytes, table_.size(), table_.begin());
  }
  const char* kernel() const override { return "map_rows_q8"; }
  void run(const Memory& m) const override {
    kernels::map_rows_q8(x_.rows, x_.columns, m.data<uint8_t>(x_.operand), x_.stride(m),
                         table_.data(), m.data<uint8_t>(y_.operand), y_.stride(m));
  }

 private:
  Grid x_, y_;
  std::array<uint8_t, 256> table_;
};

class DequantizeStep : public Step {
 public:
  DequantizeStep(const Grid& x, const Grid& y, const AffineQ8& affine)
      : x_(x), y_(y), affine_(affine) {
    reading(x.operand);
    writing(y.operand);
  }
  const char* kernel() const override { return "dequantize_rows_q8"; }
  void run(const Memory& m) const override {
    kernels::dequantize_rows_q8(x_.rows, x_.columns, m.data<uint8_t>(x_.operand), x_.stride(m),
                                affine_, m.data<float>(y_.operand), y_.stride(m));
  }

 private:
  Grid x_, y_;
  AffineQ8 affine_;
};

class QuantizeStep : public Step {
 public:
  QuantizeStep(const Grid& x, const Grid& y, const AffineQ8& affine)
      : x_(x), y_(y), affine_(affine) {
    reading(x.operand);
    writing(y.operand);
  }
  const char* kernel() const override { return "quantize_rows_q8"; }
  void run(const Memory& m) const override {
    kernels::quantize_rows_q8(x_.rows, x_.columns, m.data<float>(x_.operand), x_.stride(m), affine_,
                              m.data<uint8_t>(y_.operand), y_.stride(m));
  }

 private:
  Grid x_, y_;
  AffineQ8 affine_;
};

}  // namespace

void add_table_step(PlanBuilder& plan, const Grid& x, const Grid& y, const Tensor& table) {
  plan.add_step<TableStep>(x, y, table);
}

Tensor every_byte(std::shared_ptr<const Quantizer> quantizer) {
  const Tensor bytes = empty(IntArray{256}, DType::kQUInt8);
  uint8_t* data = static_cast<uint8_t*>(bytes.raw_data());
  for (int i = 0; i < 256; ++i) data[i] = static_cast<uint8_t>(i);
  bytes.impl()->quantizer = std::move(quantizer);
  return bytes;
}

TensorId add_dequantize(PlanBuilder& plan, TensorId id) {
  const AffineQ8 affine = affine_of(plan, id);
  const Grid x = as_grid(plan, id);
  const Grid y = result_grid(plan, x, DType::kFloat32, nullptr);
  plan.add_step<DequantizeStep>(x, y, affine);
  return y.operand.id();
}

TensorId add_quantize(PlanBuilder& plan, TensorId id, std::shared_ptr<const Quantizer> quantizer) {
  id = plan.in_float32(id);
  if (plan.info(id).dtype != DType::kFloat32) decline("another dtype");
  const AffineQ8 affine = affine_of(*quantizer);
  const Grid x = as_grid(plan, id);
  const Grid y = result_grid(plan, x, DType::kQUInt8, std::move(quantizer));
  plan.add_step<QuantizeStep>(x, y, affine);
  return y.operand.id();
}

}  // namespace torchlet::cpu
