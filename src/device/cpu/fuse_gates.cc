#include "device/cpu/fuse_gates.h"

#include "device/cpu/lower/binary_step.h"
#include "device/cpu/lower/conv_step.h"
#include "device/cpu/step_chains.h"
#include "kernels/simd/scratch.h"

namespace torchlet::cpu {
namespace {

class GatedConvStep : public Step {
 public:
  GatedConvStep(std::unique_ptr<ConvStep> layer, const BinaryStep& gate)
      : layer_(std::move(layer)),
        stride_(gate.first().stride),
        input_(reading(gate.first().operand())),
        gate_(reading(Operand::fixed(gate.second().id))) {
    for (const Operand& read : layer_->reads()) {  // and its residual
      if (read.id() != layer_->input().id()) reading(read);
    }
    writing(layer_->output());
    node = layer_->node;
  }
  const char* kernel() const override { return "gated_conv_nhwc_f32"; }
  double flops() const override { return layer_->flops(); }
  void run(const Memory& m) const override {
    const kernels::ConvNhwcShape& shape = layer_->shape();
    const auto bytes = static_cast<int64_t>(kernels::conv_nhwc_f32_packed_bytes(shape));
    const kernels::Scratch<std::byte> scaled(bytes);
    kernels::conv_nhwc_f32_scale(shape, layer_->packed(), m.data<float>(gate_), scaled.data());
    kernels::conv_nhwc_f32(shape, m.data<float>(input_), stride_, scaled.data(),
                           layer_->epilogue<float>(m), m.data<float>(layer_->output()),
                           m.stride(layer_->output()));
  }

 private:
  std::unique_ptr<ConvStep> layer_;
  int64_t stride_;  // of the input
  Operand input_, gate_;
};

class GatesFuser : StepChains {
 public:
  using StepChains::StepChains;

  void run() {
    for (int i = 0; i < static_cast<int>(plan_.steps.size()); ++i) {
      const auto* layer = at<ConvStep>(i);
      if (layer && pays(*layer)) fuse(layer->input(), i);
    }
    remove_fused();
  }

 private:
  static bool pays(const ConvStep& layer) {
    constexpr size_t kMostBytes = size_t{1} << 20;  // as stay in the second-level cache
    const kernels::ConvNhwcShape& shape = layer.shape();
    return !is_float16(layer.dtype()) && layer.is_pointwise() && shape.batch == 1 &&
           shape.out_channels < shape.window.out_h * shape.window.out_w &&
           kernels::conv_nhwc_f32_may_scale(shape) &&
           kernels::conv_nhwc_f32_packed_bytes(shape) <= kMostBytes;
  }

  void fuse(Operand input, int place) {
    const int gate_at = only_writer(input);
    const auto* gate = at<BinaryStep>(gate_at);
    if (!gate || !gate->scales_channels()) return;
    for (const Operand& read : gate->reads()) {  // which happens later now
      if (is_written_between(read, gate_at, place)) return;
    }
    auto& step = plan_.steps[static_cast<size_t>(place)];
    std::unique_ptr<ConvStep> layer(static_cast<ConvStep*>(step.release()));
    step = std::make_unique<GatedConvStep>(std::move(layer), *gate);
    plan_.steps[static_cast<size_t>(gate_at)].reset();
  }
};

}  // namespace

void fuse_gates(Plan& plan) { GatesFuser(plan).run(); }

}  // namespace torchlet::cpu
