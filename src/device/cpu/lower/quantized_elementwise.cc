// Operators of quint8 tensors without weights. A function of one tensor, element by element, is a
// table that the reference implementation fills.
#include <algorithm>

#include "device/cpu/lower/lowering.h"
#include "device/cpu/lower/quantized_matrix.h"
#include "kernels/quantized/pool_nhwc_q8.h"
#include "kernels/spatial/window_size.h"
#include "ops/core/common.h"
#include "ops/engines/quantize.h"

namespace torchlet::cpu {
namespace {

using kernels::AffineQ8;
using kernels::OutputQ8;

bool is_rectified(const Call& call) { return call.kind().name().ends_with("_relu"); }

// ---- real numbers and back ----

void lower_quantize(PlanBuilder& plan, const Call& call) {
  if (call.known_int("dtype") != static_cast<int64_t>(DType::kQUInt8)) decline("another dtype");
  plan.define(call, add_quantize(plan, plan.tensor(call, 0),
                                 quantizer_argument(call, "scale", "zero_point")));
}

void lower_dequantize(PlanBuilder& plan, const Call& call) {
  plan.define(call, add_dequantize(plan, plan.tensor(call, 0)));
}

// Averages and interpolations: the scale drops out, so they are taken of the integers, as PyTorch
// does.
void lower_through_reals(PlanBuilder& plan, const Call& call) {
  const Lowering* real = find_lowering(call.kind(), false);
  if (!real || real == find_lowering(call.kind(), true)) decline("no kernel for it");
  TensorId id = plan.tensor(call, 0);
  const auto quantizer = plan.info(id).quantizer;
  const auto unit = per_tensor_quantizer(1, affine_of(plan, id).zero_point);
  id = plan.requantized(id, unit);
  Call of_reals = call;
  of_reals.arguments[0] = plan.argument_of(add_dequantize(plan, id));
  real->lower(plan, of_reals);
  const TensorId result = add_quantize(plan, plan.tensor(call.outputs[0]), unit);
  plan.define(call, plan.requantized(result, quantizer));
}

// ---- functions of one element ----

// The table of a call in which `place` is the tensor and everything else is known.
void lower_table_of(PlanBuilder& plan, const Call& call, size_t place) {
  const TensorId id = plan.tensor(call, place);
  affine_of(plan, id);
  std::vector<Value> arguments;
  for (size_t i = 0; i < call.op->schema.arguments.size(); ++i) {
    arguments.push_back(i == place ? Value(every_byte(plan.info(id).quantizer)) : call.known(i));
  }
  Value result;
  call.op->call(arguments, std::span(&result, 1));
  const Tensor table = result.is_tensor() ? result.to_tensor() : Tensor();
  if (!table.defined() || table.dtype() != DType::kQUInt8 || table.numel() != 256) {
    decline("a result of another kind");
  }
  const Grid x = as_grid(plan, id);
  const Grid y = result_grid(plan, x, DType::kQUInt8, table.impl()->quantizer);
  add_table_step(plan, x, y, table.contiguous());
  plan.define(call, y.operand.id());
}

void lower_table(PlanBuilder& plan, const Call& call) { lower_table_of(plan, call, 0); }

// As part of the step before, if that can clamp.
void lower_clamp(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.tensor(call, 0);
  affine_of(plan, id);
  if (plan.fuse(call, 0, activation_of(call))) return plan.define(call, id);
  lower_table(plan, call);
}

// ---- arithmetic of two ----

class AddStep : public StepQ8 {
 public:
  AddStep(const kernels::AddQ8& add, const Grid& a, const Grid& b, const Grid& y,
          std::shared_ptr<const Quantizer> quantizer, bool is_rectified)
      : StepQ8(std::move(quantizer), is_rectified), add_(add), a_(a), b_(b), y_(y) {
    reading(a.operand);
    reading(b.operand);
    writing_in_place(y.operand);
  }
  const char* kernel() const override { return "add_rows_q8"; }
  void run(const Memory& m) const override {
    kernels::add_rows_q8(add_, a_.rows, a_.columns, m.data<uint8_t>(a_.operand), a_.stride(m),
                         m.data<uint8_t>(b_.operand), b_.stride(m), result(),
                         m.data<uint8_t>(y_.operand), y_.stride(m));
  }

 private:
  kernels::AddQ8 add_;
  Grid a_, b_, y_;
};

class BinaryStep : public StepQ8 {
 public:
  BinaryStep(const kernels::BinaryQ8& binary, const Grid& a, const Grid& b, int64_t rows_per_b,
             const Grid& y, std::shared_ptr<const Quantizer> quantizer, bool is_rectified)
      : StepQ8(std::move(quantizer), is_rectified),
        binary_(binary),
        a_(a),
        b_(b),
        y_(y),
        rows_per_b_(rows_per_b) {
    reading(a.operand);
    reading(b.operand);
    writing_in_place(y.operand);
  }
  const char* kernel() const override { return "binary_rows_q8"; }
  void run(const Memory& m) const override {
    kernels::binary_rows_q8(binary_, a_.rows, a_.columns, m.data<uint8_t>(a_.operand), a_.stride(m),
                            m.data<uint8_t>(b_.operand), b_.stride(m), rows_per_b_, result(),
                            m.data<uint8_t>(y_.operand), y_.stride(m));
  }

 private:
  kernels::BinaryQ8 binary_;
  Grid a_, b_, y_;
  int64_t rows_per_b_;
};

// `b` [n, c, 1, 1] of pictures `a` [n, c, h, w].
bool is_one_per_channel(const PlanTensor& a, const PlanTensor& b) {
  return a.dim() == 4 && b.dim() == 4 && a.sizes[0] == b.sizes[0] && a.sizes[1] == b.sizes[1] &&
         b.sizes[2] == 1 && b.sizes[3] == 1;
}

// Is the argument one known number, which is spread over a tensor of `rank` dimensions?
bool is_one_number(const CallArgument& argument, int64_t rank) {
  if (!argument.is_known() || !argument.known().is_tensor()) return false;
  const Tensor tensor = argument.known().to_tensor();
  return tensor.numel() == 1 && tensor.dim() <= rank;
}

void lower_binary(PlanBuilder& plan, const Call& call) {
  if (call.arguments.size() != 4) decline("a number there");
  for (const size_t place : {0, 1}) {
    const CallArgument& tensor = call.arguments[place];
    if (tensor.is_tensor() &&
        is_one_number(call.arguments[1 - place], plan.info(plan.tensor(tensor)).dim())) {
      return lower_table_of(plan, call, place);
    }
  }
  TensorId a = plan.tensor(call, 0), b = plan.tensor(call, "qb");
  const auto quantizer = quantizer_argument(call, "scale", "zero_point");
  const bool rectified = is_rectified(call);
  const bool same_sizes = plan.info(a).sizes == plan.info(b).sizes;
  if (!same_sizes && is_one_per_channel(plan.info(b), plan.info(a))) std::swap(a, b);
  const AffineQ8 affine_a = affine_of(plan, a), affine_b = affine_of(plan, b);
  const float scale = affine_of(*quantizer).scale;
  const bool adds = call.kind().name().starts_with("add");
  std::pair<Grid, Grid> operands;
  int64_t rows_per_b = 1;
  if (same_sizes) {
    operands = as_grids(plan, a, b);
  } else if (is_one_per_channel(plan.info(a), plan.info(b)) && !adds) {
    const NhwcImage image = plan.as_image(a);
    rows_per_b = image.h * image.w;
    operands = {grid_of(image), grid_of(plan.as_image(b))};
  } else {
    decline("an unusual broadcast");
  }
  const auto& [grid_a, grid_b] = operands;
  const Grid y = result_grid(plan, grid_a, DType::kQUInt8, quantizer);
  if (const auto add = adds ? kernels::make_add_q8(affine_a, affine_b, scale) : std::nullopt) {
    plan.add_step<AddStep>(*add, grid_a, grid_b, y, quantizer, rectified);
  } else {
    const auto op = adds ? kernels::BinaryOpQ8::kAdd : kernels::BinaryOpQ8::kMul;
    plan.add_step<BinaryStep>(kernels::BinaryQ8{op, affine_a, affine_b, scale}, grid_a, grid_b,
                              rows_per_b, y, quantizer, rectified);
  }
  plan.define(call, y.operand.id());
}

// ---- joining ----

// What requantizes a part of a concatenation; an undefined tensor if nothing changes.
Tensor joining_table(const std::shared_ptr<const Quantizer>& from,
                     const std::shared_ptr<const Quantizer>& to, bool rectifies) {
  const Tensor bytes = every_byte(from);
  Tensor real = ops::dequantize(bytes);
  if (rectifies) {
    float* data = real.data_ptr<float>();
    for (int64_t i = 0; i < real.numel(); ++i) data[i] = std::max(data[i], 0.0f);
  }
  const Tensor table = ops::quantize(real, DType::kQUInt8, to);
  const uint8_t* before = static_cast<const uint8_t*>(bytes.raw_data());
  return std::equal(before, before + 256, static_cast<const uint8_t*>(table.raw_data())) ? Tensor()
                                                                                         : table;
}

// Of images along their channels.
void lower_cat(PlanBuilder& plan, const Call& call) {
  const std::vector<TensorId> parts = plan.tensors(call, 0);
  if (parts.empty()) decline("nothing to join");
  const PlanTensor first = plan.info(parts[0]);
  affine_of(plan, parts[0]);
  if (first.dim() != 4 || wrap_dim(call.known_int("dim"), 4) != 1) {
    decline("not along the channels of images");
  }
  const bool has_scale = call.has_argument("scale") && !call.is_none("scale");
  const auto quantizer =
      has_scale ? quantizer_argument(call, "scale", "zero_point") : first.quantizer;
  affine_of(*quantizer);
  int64_t channels = 0;
  for (const TensorId part : parts) {
    affine_of(plan, part);
    const PlanTensor& t = plan.info(part);
    if (t.dim() != 4 || t.sizes[0] != first.sizes[0] || t.sizes[2] != first.sizes[2] ||
        t.sizes[3] != first.sizes[3] || t.numel() == 0) {
      decline("unlike parts");
    }
    channels += t.sizes[1];
  }
  const NhwcImage whole = plan.new_image(DType::kQUInt8, first.sizes[0], channels, first.sizes[2],
                                         first.sizes[3], quantizer);
  const IntArray strides = plan.info(whole.id).strides;
  int64_t start = 0;
  for (const TensorId part : parts) {
    const PlanTensor t = plan.info(part);
    const TensorId place = plan.new_view(whole.id, t.sizes, strides, start);
    const Tensor table = joining_table(t.quantizer, quantizer, is_rectified(call));
    if (table.defined()) {
      add_table_step(plan, grid_of(plan.as_image(part)), grid_of(*plan.image_view(place)), table);
    } else if (!plan.place(part, place)) {
      plan.copy(part, place);
    }
    start += t.sizes[1];
  }
  plan.define(call, whole.id);
}

// ---- pooling ----

class MaxPoolStep : public Step {
 public:
  MaxPoolStep(const kernels::PoolShape& shape, Operand input, Operand output)
      : shape_(shape), input_(reading(input)), output_(writing(output)) {}
  const char* kernel() const override { return "max_pool_nhwc_q8"; }
  void run(const Memory& m) const override {
    kernels::max_pool_nhwc_q8(shape_, m.data<uint8_t>(input_), m.stride(input_),
                              m.data<uint8_t>(output_), m.stride(output_));
  }

 private:
  kernels::PoolShape shape_;
  Operand input_, output_;
};

void lower_max_pool(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.tensor(call, 0);
  affine_of(plan, id);
  const NhwcImage input = plan.as_image(id);
  const kernels::PoolShape shape = max_pool_shape(call, input);
  const NhwcImage output = plan.new_image(DType::kQUInt8, input.n, input.c, shape.window.out_h,
                                          shape.window.out_w, plan.info(id).quantizer);
  plan.add_step<MaxPoolStep>(shape, input, output);
  plan.define(call, output.id);
}

class AvgPoolStep : public Step {
 public:
  AvgPoolStep(const kernels::PoolShape& shape, const AffineQ8& affine, Operand input,
              Operand output)
      : shape_(shape), affine_(affine), input_(reading(input)), output_(writing(output)) {}
  const char* kernel() const override { return "avg_pool_nhwc_q8"; }
  void run(const Memory& m) const override {
    kernels::avg_pool_nhwc_q8(shape_, affine_, m.data<uint8_t>(input_), m.stride(input_),
                              m.data<uint8_t>(output_), m.stride(output_));
  }

 private:
  kernels::PoolShape shape_;
  AffineQ8 affine_;
  Operand input_, output_;
};

// Windows of [size[0], size[1]] pixels, `stride` apart, that cover the input or less.
NhwcImage add_average(PlanBuilder& plan, const NhwcImage& input, const IntArray& size,
                      const IntArray& stride) {
  kernels::Window2dShape w{input.h, input.w, 0, 0, size[0], size[1], stride[0], stride[1]};
  w.out_h = kernels::sliding_output_size(w.in_h, w.kernel_h, w.stride_h, 0, 1);
  w.out_w = kernels::sliding_output_size(w.in_w, w.kernel_w, w.stride_w, 0, 1);
  if (w.out_h < 1 || w.out_w < 1) decline("an empty result");
  const AffineQ8 affine = affine_of(plan, input.id);
  const NhwcImage output = plan.new_image(DType::kQUInt8, input.n, input.c, w.out_h, w.out_w,
                                          plan.info(input.id).quantizer);
  const kernels::PoolShape shape{input.n, input.c, w};
  plan.add_step<AvgPoolStep>(shape, affine, input, output);
  return output;
}

NhwcImage quantized_image(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.tensor(call, 0);
  affine_of(plan, id);
  return plan.as_image(id);
}

void lower_adaptive_avg_pool(PlanBuilder& plan, const Call& call) {
  const NhwcImage input = quantized_image(plan, call);
  const IntArray size = call.known_ints("output_size", 2);
  if (size[0] < 1 || size[1] < 1 || input.h % size[0] != 0 || input.w % size[1] != 0) {
    return lower_through_reals(plan, call);
  }
  const IntArray window = {input.h / size[0], input.w / size[1]};
  plan.define(call, add_average(plan, input, window, window).id);
}

void lower_avg_pool(PlanBuilder& plan, const Call& call) {
  const NhwcImage input = quantized_image(plan, call);
  const IntArray size = call.known_ints("kernel_size", 2);
  const bool has_stride = !call.known_ints("stride").empty();
  const IntArray stride = has_stride ? call.known_ints("stride", 2) : size;
  const bool is_plain = call.known_ints("padding", 2) == IntArray{0, 0} &&
                        !call.known_bool("ceil_mode") && call.is_none("divisor_override");
  if (!is_plain || size[0] < 1 || size[1] < 1 || stride[0] < 1 || stride[1] < 1) {
    return lower_through_reals(plan, call);
  }
  plan.define(call, add_average(plan, input, size, stride).id);
}

// mean(x, [2, 3]) of an image.
void lower_mean(PlanBuilder& plan, const Call& call) {
  const PlanTensor& t = plan.info(plan.tensor(call, 0));
  if (t.dim() != 4 || !call.has_argument("dim") || call.is_none("dim") || !call.is_none("dtype") ||
      !(ops::normalize_dims(call.known_ints("dim"), 4) == IntArray{2, 3})) {
    return lower_through_reals(plan, call);
  }
  const NhwcImage input = quantized_image(plan, call);
  const NhwcImage output = add_average(plan, input, {input.h, input.w}, {1, 1});
  if (call.known_bool("keepdim")) return plan.define(call, output.id);
  plan.define(call, plan.reshaped(output.id, IntArray{output.n, output.c}));
}

}  // namespace

std::span<const Lowering> quantized_elementwise_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::quantize_per_tensor", lower_quantize},
      {"aten::dequantize", lower_dequantize},
      {"quantized::add", lower_binary},
      {"quantized::add_relu", lower_binary},
      {"quantized::mul", lower_binary},
      {"quantized::mul_relu", lower_binary},
      {"quantized::cat", lower_cat},
      {"quantized::cat_relu", lower_cat},
      {"aten::cat", lower_cat},
      {"aten::max_pool2d", lower_max_pool},
      {"quantized::max_pool2d", lower_max_pool},
      {"aten::relu", lower_clamp},
      {"aten::relu6", lower_clamp},
      {"aten::hardtanh", lower_clamp},
      {"aten::clamp", lower_clamp},
      {"aten::clamp_min", lower_clamp},
      {"aten::clamp_max", lower_clamp},
      {"aten::leaky_relu", lower_table},
      {"aten::elu", lower_table},
      {"aten::celu", lower_table},
      {"aten::threshold", lower_table},
      {"aten::gelu", lower_table},
      {"aten::sigmoid", lower_table},
      {"aten::hardsigmoid", lower_table},
      {"aten::tanh", lower_table},
      {"quantized::relu6", lower_clamp},
      {"quantized::clamp", lower_clamp},
      {"quantized::threshold", lower_table},
      {"quantized::leaky_relu", lower_table},
      {"quantized::elu", lower_table},
      {"quantized::celu", lower_table},
      {"quantized::hardswish", lower_table},
      {"quantized::sigmoid", lower_table},
      {"quantized::add_scalar", lower_table},
      {"quantized::add_scalar_relu", lower_table},
      {"quantized::mul_scalar", lower_table},
      {"quantized::mul_scalar_relu", lower_table},
      {"aten::adaptive_avg_pool2d", lower_adaptive_avg_pool},
      {"aten::_adaptive_avg_pool2d", lower_adaptive_avg_pool},
      {"aten::avg_pool2d", lower_avg_pool},
      {"aten::mean", lower_mean},
      {"aten::upsample_nearest2d", lower_through_reals},
      {"aten::_upsample_nearest_exact2d", lower_through_reals},
      {"aten::upsample_bilinear2d", lower_through_reals},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
