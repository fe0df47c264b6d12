// Normalizations and softmax.
#include <cmath>
#include <optional>
#include <vector>

#include "base/sort.h"
#include "base/thread_pool.h"
#include "device/cpu/lower/epilogue_step.h"
#include "device/cpu/lower/lowering.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/elementwise/normalize.h"
#include "kernels/simd/split.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

// x * scale[c] + shift[c], where no convolution before could take it.
class ScaleShiftStep : public ActivatedStep {
 public:
  ScaleShiftStep(DType dtype, const NhwcImage& input, const NhwcImage& output, const float* scale)
      : dtype_(dtype),
        rows_(input.pixels()),
        channels_(input.c),
        input_(reading(input)),
        output_(writing_in_place(output)),
        scale_(scale) {}
  const char* kernel() const override {
    return is_float16(dtype_) ? "scale_shift_rows_f16" : "scale_shift_rows_f32";
  }
  void run(const Memory& m) const override {
    const auto run_in = [&](const auto& function, const auto* x, auto* y) {
      function(rows_, channels_, x, m.stride(input_), scale_, scale_ + channels_, activation_, y,
               m.stride(output_));
    };
    if (is_float16(dtype_)) {
      run_in(kernels::scale_shift_rows_f16, m.data<Float16>(input_), m.data<Float16>(output_));
    } else {
      run_in(kernels::scale_shift_rows_f32, m.data<float>(input_), m.data<float>(output_));
    }
  }

 private:
  DType dtype_;
  int64_t rows_, channels_;
  Operand input_, output_;
  const float* scale_;  // [channels], then the shift
};

// The same for planes, [n, c, pixels], whose channels do not lie together.
class ScaleShiftPlanesStep : public ActivatedStep {
 public:
  ScaleShiftPlanesStep(const PlanTensor& t, TensorId input, TensorId output, const float* scale)
      : batch_(t.sizes[0]),
        channels_(t.sizes[1]),
        pixels_(t.numel() / (batch_ * channels_)),
        input_(reading(Operand::fixed(input))),
        output_(writing(Operand::fixed(output))),
        scale_(scale) {}
  const char* kernel() const override { return "scale_shift_planes_f32"; }
  void run(const Memory& m) const override {
    kernels::scale_shift_planes_f32(batch_, channels_, pixels_, m.data<float>(input_), scale_,
                                    scale_ + channels_, activation_, m.data<float>(output_));
  }

 private:
  int64_t batch_, channels_, pixels_;
  Operand input_, output_;
  const float* scale_;  // [channels], then the shift
};

void fill_scale_shift(void* to, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                      const Tensor& variance, const double& eps) {
  const int64_t channels = mean.numel();
  const auto values = [&](const Tensor& t, double none) {
    std::vector<double> all(static_cast<size_t>(channels), none);
    if (!t.defined()) return all;
    const Tensor dense = t.contiguous();
    std::copy_n(dense.data_ptr<float>(), channels, all.begin());
    return all;
  };
  const auto w = values(weight, 1), b = values(bias, 0), m = values(mean, 0),
             v = values(variance, 1);
  float* scale = static_cast<float*>(to);
  for (size_t i = 0; i < w.size(); ++i) {
    const double s = w[i] / std::sqrt(v[i] + eps);
    scale[i] = static_cast<float>(s);
    scale[i + w.size()] = static_cast<float>(b[i] - m[i] * s);
  }
}

void lower_batch_norm(PlanBuilder& plan, const Call& call) {
  if (call.known_bool("training")) decline("training");
  TensorId id = plan.real_tensor(call, 0);
  const IntArray sizes = plan.info(id).sizes;
  if (sizes.size() < 2 || plan.info(id).numel() == 0) decline("not an image");
  // The rows of a matrix are images of one pixel, lines images of one row.
  const bool is_image = sizes.size() >= 4;
  if (!is_image) {
    id = plan.reshaped(id, {{sizes[0], sizes[1], 1, sizes.size() == 3 ? sizes[2] : 1}});
  }
  const auto define = [&](TensorId result) {
    plan.define(call, is_image ? result : plan.reshaped(result, sizes));
  };
  const PlanTensor t = plan.info(id);
  const Tensor weight = call.known_tensor("weight");
  const Tensor bias = call.known_tensor("bias");
  const Tensor mean = call.known_tensor("running_mean");
  const Tensor variance = call.known_tensor("running_var");
  if (!mean.defined() || !variance.defined()) decline("no running statistics");
  const double eps = call.known_double("eps");
  const int64_t c = t.sizes[1];
  for (const Tensor& s : {weight, bias, mean, variance}) {
    if (s.defined() && (s.dtype() != DType::kFloat32 || s.numel() != c)) decline("statistics");
  }
  const float* scale =
      static_cast<const float*>(plan.packed(static_cast<size_t>(c) * 2 * sizeof(float),
                                            fill_scale_shift, weight, bias, mean, variance, eps));
  if (are_planes(plan, id)) {
    const TensorId output = plan.new_contiguous(t.dtype, t.sizes);
    plan.add_step<ScaleShiftPlanesStep>(t, id, output, scale);
    return define(output);
  }
  const NhwcImage input = plan.as_image(id, t.dim());
  const NhwcImage output = plan.new_image(t.dtype, t.sizes);
  plan.add_step<ScaleShiftStep>(t.dtype, input, output, scale);
  define(output.id);
}

class GroupNormStep : public ActivatedStep {
 public:
  GroupNormStep(const NhwcImage& input, const NhwcImage& output, int64_t groups,
                const float* weight, const float* bias, float eps)
      : batch_(input.n),
        pixels_(input.d * input.h * input.w),
        channels_(input.c),
        groups_(groups),
        input_(reading(input)),
        output_(writing(output)),
        weight_(weight),
        bias_(bias),
        eps_(eps) {}
  const char* kernel() const override { return "group_norm_nhwc_f32"; }
  void run(const Memory& m) const override {
    kernels::group_norm_nhwc_f32(batch_, pixels_, channels_, groups_, m.data<float>(input_),
                                 m.stride(input_), weight_, bias_, eps_, activation_,
                                 m.data<float>(output_), m.stride(output_));
  }

 private:
  int64_t batch_, pixels_, channels_, groups_;
  Operand input_, output_;
  const float *weight_, *bias_;  // [channels], or null
  float eps_;
};

void add_group_norm(PlanBuilder& plan, const Call& call, std::optional<int64_t> groups) {
  TensorId id = plan.tensor_of(call, 0, DType::kFloat32);
  const bool is_line = plan.info(id).dim() == 3;  // an image of one row
  if (is_line) id = plan.viewed(id, ops::unsqueeze(plan.shape_of(id), 2));
  const auto input = plan.image_view(id);
  // Otherwise the reference is as fast.
  if (!input) decline("an image whose channels do not lie together");
  if (plan.info(id).numel() == 0) decline("an empty tensor");
  const int64_t c = input->c;
  if (groups && (*groups < 1 || c % *groups != 0)) decline("groups that do not fit");
  const Tensor weight = call.known_tensor("weight"), bias = call.known_tensor("bias");
  for (const Tensor& t : {weight, bias}) {
    if (t.defined() && (t.dtype() != DType::kFloat32 || t.numel() != c)) decline("unusual weights");
  }
  const NhwcImage output = plan.new_image(DType::kFloat32, plan.info(id).sizes);
  plan.add_step<GroupNormStep>(
      *input, output, groups.value_or(c), weight.defined() ? plan.floats(weight) : nullptr,
      bias.defined() ? plan.floats(bias) : nullptr, static_cast<float>(call.known_double("eps")));
  plan.define(call, is_line ? plan.viewed(output.id, ops::squeeze(plan.shape_of(output.id), 2))
                            : output.id);
}

void lower_group_norm(PlanBuilder& plan, const Call& call) {
  add_group_norm(plan, call, call.known_int("num_groups"));
}

void lower_instance_norm(PlanBuilder& plan, const Call& call) {
  if (!call.known_bool("use_input_stats") || !call.is_none("running_mean") ||
      !call.is_none("running_var")) {
    decline("running statistics");
  }
  add_group_norm(plan, call, std::nullopt);  // a group for each channel
}

// A kernel over contiguous rows, or columns, which has read one when it writes it.
template <typename Run>
class RowsStep : public Step {
 public:
  RowsStep(const char* kernel, TensorId input, TensorId output, Run run)
      : kernel_(kernel),
        input_(reading(Operand::fixed(input))),
        output_(writing_in_place(Operand::fixed(output))),
        run_(run) {}
  const char* kernel() const override { return kernel_; }
  void run(const Memory& m) const override { run_(m.data<float>(input_), m.data<float>(output_)); }

 private:
  const char* kernel_;
  Operand input_, output_;
  Run run_;
};

template <typename Run>
TensorId add_rows_step(PlanBuilder& plan, const char* kernel, TensorId input, Run run) {
  const TensorId result = plan.new_contiguous(DType::kFloat32, plan.info(input).sizes);
  plan.add_step<RowsStep<Run>>(kernel, input, result, run);
  return result;
}

// The dimensions in the order of memory.
IntArray memory_order(const PlanTensor& t) {
  IntArray order;
  for (int64_t d = 0; d < t.dim(); ++d) order.push_back(d);
  const auto stride = [&](int64_t d) { return t.strides[static_cast<size_t>(d)]; };
  stable_sort(order, [&](int64_t a, int64_t b) { return stride(a) > stride(b); });
  return order;
}

TensorId add_softmax(PlanBuilder& plan, TensorId input, int64_t dim, bool logarithm) {
  input = plan.contiguous(input);
  const PlanTensor& t = plan.info(input);
  const int64_t count = t.sizes[static_cast<size_t>(dim)];
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(dim) + 1; d < t.sizes.size(); ++d) inner *= t.sizes[d];
  const int64_t outer = t.numel() / count / inner;
  if (inner == 1) {
    return add_rows_step(
        plan, logarithm ? "log_softmax_f32" : "softmax_f32", input, [=](const float* x, float* y) {
          (logarithm ? kernels::log_softmax_f32 : kernels::softmax_f32)(x, y, outer, count);
        });
  }
  return add_rows_step(plan, logarithm ? "log_softmax_columns_f32" : "softmax_columns_f32", input,
                       [=](const float* x, float* y) {
                         (logarithm ? kernels::log_softmax_columns_f32
                                    : kernels::softmax_columns_f32)(x, y, outer, count, inner);
                       });
}

void lower_softmax(PlanBuilder& plan, const Call& call) {
  const TensorId input = plan.tensor_of(call, 0, DType::kFloat32);
  const PlanTensor t = plan.info(input);
  if (!call.is_none("dtype") && call.known_int("dtype") != static_cast<int>(DType::kFloat32)) {
    decline("another dtype");
  }
  if (t.numel() == 0 || t.dim() == 0) decline("an empty tensor or a number");
  const int64_t dim = wrap_dim(call.known_int("dim"), t.dim());
  const bool logarithm = call.kind().name() == "log_softmax";
  if (dim == t.dim() - 1) return plan.define(call, add_softmax(plan, input, dim, logarithm));
  // As it lies.
  const IntArray order = memory_order(t);
  IntArray back(order);
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  const TensorId result =
      add_softmax(plan, plan.viewed(input, ops::permute(plan.shape_of(input), order)),
                  back[static_cast<size_t>(dim)], logarithm);
  plan.define(call, plan.viewed(result, ops::permute(plan.shape_of(result), back)));
}

void lower_layer_norm(PlanBuilder& plan, const Call& call) {
  const TensorId input = plan.tensor_of(call, 0, DType::kFloat32);
  const PlanTensor& t = plan.info(input);
  const IntArray shape = call.known_ints("normalized_shape");
  if (shape.size() > t.sizes.size() || t.numel() == 0 ||
      !std::equal(shape.begin(), shape.end(),
                  t.sizes.end() - static_cast<ptrdiff_t>(shape.size()))) {
    decline("a shape that does not fit");
  }
  int64_t cols = 1;
  for (const int64_t size : shape) cols *= size;
  const Tensor weight = call.known_tensor("weight"), bias = call.known_tensor("bias");
  for (const Tensor& values : {weight, bias}) {
    if (values.defined() && values.dtype() != DType::kFloat32) decline("unusual weights");
  }
  plan.define(call, add_layer_norm(plan, input, cols, weight, bias,
                                   static_cast<float>(call.known_double("eps"))));
}

}  // namespace

TensorId add_layer_norm(PlanBuilder& plan, TensorId input, int64_t cols, const Tensor& weight,
                        const Tensor& bias, float eps) {
  for (const Tensor& values : {weight, bias}) {
    if (values.defined() && (!plan.is_layer_dtype(values.dtype()) || values.numel() != cols)) {
      decline("unusual weights");
    }
  }
  const float* scale = weight.defined() ? plan.floats(weight) : nullptr;
  const float* shift = bias.defined() ? plan.floats(bias) : nullptr;
  input = plan.contiguous(input);
  const int64_t rows = plan.info(input).numel() / cols;
  return add_rows_step(plan, "layer_norm_f32", input, [=](const float* x, float* y) {
    kernels::layer_norm_f32(x, scale, shift, y, rows, cols, eps);
  });
}

std::span<const Lowering> norm_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::batch_norm", lower_batch_norm}, {"aten::softmax", lower_softmax},
      {"aten::log_softmax", lower_softmax},   {"aten::layer_norm", lower_layer_norm},
      {"aten::group_norm", lower_group_norm}, {"aten::instance_norm", lower_instance_norm},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
