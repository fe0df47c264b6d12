#include "device/cpu/fuse_planes.h"

#include "device/cpu/copy_step.h"
#include "device/cpu/lower/conv_step.h"
#include "device/cpu/step_chains.h"

namespace torchlet::cpu {
namespace {

// A depthwise step with the change of order before it, after it, or both.
class DepthwisePlanesStep : public Step {
 public:
  // `input` and `output` instead of those of the layer, where they are no images.
  DepthwisePlanesStep(std::unique_ptr<DepthwiseStep> layer, Operand input, Operand output)
      : layer_(std::move(layer)), input_(reading(input)), output_(writing(output)) {
    node = layer_->node;
  }
  const char* kernel() const override {
    return layer_->shape().group > 1 ? "group_conv_planes_f32" : "dwconv_planes_f32";
  }
  double flops() const override { return layer_->flops(); }
  void run(const Memory& m) const override {
    const bool reads_planes = input_.form() != Form::kImage;
    const bool writes_planes = output_.form() != Form::kImage;
    kernels::dwconv_planes_f32(layer_->shape(), reads_planes, m.data<float>(input_),
                               reads_planes ? 0 : m.stride(input_), layer_->packed(),
                               layer_->epilogue<float>(m), writes_planes, m.data<float>(output_),
                               writes_planes ? 0 : m.stride(output_));
  }

 private:
  std::unique_ptr<DepthwiseStep> layer_;
  Operand input_, output_;
};

class PlanesFuser : StepChains {
 public:
  using StepChains::StepChains;

  void run() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) fuse_at(static_cast<int>(i));
    remove_fused();
  }

 private:
  const PlanTensor& tensor(Operand operand) const {
    return plan_.tensors[static_cast<size_t>(operand.id())];
  }
  // [n, c, h, w], or [n, c, w] of what sees an image of one line.
  bool are_planes(Operand operand) const {
    const PlanTensor& t = tensor(operand);
    return (t.dim() == 4 || t.dim() == 3) &&
           is_contiguous_as(t.sizes, t.strides, MemoryFormat::kContiguous);
  }

  void fuse_at(int place) {
    const auto* layer = at<DepthwiseStep>(place);
    if (!layer || is_float16(layer->dtype()) || layer->has_residual()) return;
    const int before_at = only_writer(layer->input()), after_at = only_reader(layer->output());
    const auto* before = at<CopyStep>(before_at);
    const auto* after = at<CopyStep>(after_at);
    if (after && (!sees_the_same(tensor(after->from()), tensor(layer->output())) ||
                  !are_planes(after->to()))) {
      after = nullptr;
    }
    const int last = after ? after_at : place;
    if (before &&
        (!are_planes(before->from()) || is_written_between(before->from(), before_at, last))) {
      before = nullptr;
    }
    if (!before && !after) return;
    const Operand input = before ? Operand::fixed(before->from().id()) : layer->input();
    const Operand output = after ? Operand::fixed(after->to().id()) : layer->output();
    auto& steps = plan_.steps;
    const auto step = [&](int at) -> auto& { return steps[static_cast<size_t>(at)]; };
    std::unique_ptr<DepthwiseStep> taken(static_cast<DepthwiseStep*>(step(place).release()));
    if (before) step(before_at).reset();
    step(last) = std::make_unique<DepthwisePlanesStep>(std::move(taken), input, output);
  }
};

}  // namespace

void fuse_planes(Plan& plan) { PlanesFuser(plan).run(); }

}  // namespace torchlet::cpu
