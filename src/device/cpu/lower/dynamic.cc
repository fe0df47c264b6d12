// Linear layers whose input is quantized by its own range, call by call.
#include <limits>

#include "device/cpu/lower/lowering.h"
#include "device/cpu/lower/quantized_layer.h"
#include "kernels/quantized/linear_dynamic_q8.h"
#include "ops/core/custom_class.h"
#include "ops/quantized/packed_params.h"

namespace torchlet::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class DynamicLinearStep : public Step {
 public:
  DynamicLinearStep(const DynamicLinear& linear, const Rows& x, const Rows& y, TensorId work)
      : linear_(linear),
        rows_(x.rows),
        x_(reading(x)),
        y_(writing(y)),
        work_(reading(Operand::fixed(work))) {}
  const char* kernel() const override { return "linear_dynamic_q8"; }
  double flops() const override {
    return 2.0 * static_cast<double>(rows_ * linear_.in * linear_.out);
  }
  bool is_int8() const override { return true; }
  bool fuse(const kernels::Activation& activation) override {
    if (activation.kind != kernels::ActivationKind::kClamp || is_clamped_) return false;
    is_clamped_ = true;
    low_ = activation.low;
    high_ = activation.high;
    return true;
  }
  void run(const Memory& m) const override {
    run_dynamic_linear(linear_, rows_, m.data<float>(x_), m.stride(x_), low_, high_,
                       m.data<float>(y_), m.stride(y_), m.data<uint8_t>(work_));
  }

 private:
  DynamicLinear linear_;
  int64_t rows_;
  Operand x_, y_, work_;
  bool is_clamped_ = false;
  float low_ = -kInfinity, high_ = kInfinity;
};

TensorId add_dynamic_linear(PlanBuilder& plan, TensorId id, const Tensor& weight,
                            const Tensor& bias) {
  const PlanTensor& t = plan.info(id);
  if (t.dim() == 0 || t.sizes.back() != weight.size(1) || t.numel() == 0) {
    decline("weights that do not fit");
  }
  const DynamicLinear linear = keep_dynamic_linear(plan, weight, bias);
  const Rows x = plan.as_rows(id);
  IntArray sizes = plan.info(id).sizes;
  sizes.back() = linear.out;
  const Rows y = *plan.rows_view(plan.new_contiguous(DType::kFloat32, sizes));
  const TensorId work =
      plan.new_contiguous(DType::kUInt8, {{kernels::linear_dynamic_q8_work_bytes(x.rows, x.cols)}});
  plan.add_step<DynamicLinearStep>(linear, x, y, work);
  return y.id;
}

void lower_linear_dynamic(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.tensor_of(call, 0, DType::kFloat32);
  const Value& packed_params = call.known("W_prepack");
  if (!packed_params.is_custom()) decline("weights that are not known");
  const auto& params = ops::custom_object<ops::LinearPackedParams>(packed_params);
  const auto [weight, bias] = params.unpack();
  // In fp16 only the weights are rounded.
  TensorId result = params.is_float() ? add_linear(plan, id, weight, bias)
                                      : add_dynamic_linear(plan, id, weight, bias);
  if (call.kind().name().find("_relu") != std::string_view::npos) {
    result = add_activation(plan, result, {kernels::ActivationKind::kClamp, 0, kInfinity});
  }
  plan.define(call, result);
}

}  // namespace

std::span<const Lowering> dynamic_lowerings() {
  static constexpr Lowering kTable[] = {
      {"quantized::linear_dynamic", lower_linear_dynamic},
      {"quantized::linear_relu_dynamic", lower_linear_dynamic},
      {"quantized::linear_dynamic_fp16", lower_linear_dynamic},
      {"quantized::linear_relu_dynamic_fp16", lower_linear_dynamic},
      {"_quantized::linear_dynamic", lower_linear_dynamic},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
