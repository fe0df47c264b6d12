#include "device/cpu/fuse_blocks.h"

#include "device/cpu/lower/conv_step.h"
#include "device/cpu/step_chains.h"
#include "kernels/conv_nhwc/inverted_residual.h"

namespace torchlet::cpu {
namespace {

using kernels::InvertedResidualShape;

class InvertedResidualStep : public Step {
 public:
  // `expand` or `project` may be null.
  InvertedResidualStep(const InvertedResidualShape& shape, std::unique_ptr<Step> expand,
                       std::unique_ptr<Step> depthwise, std::unique_ptr<Step> project)
      : shape_(shape),
        expand_(as<ConvStep>(std::move(expand))),
        depthwise_(as<DepthwiseStep>(std::move(depthwise))),
        project_(as<ConvStep>(std::move(project))) {
    input_ = reading(expand_ ? expand_->input() : depthwise_->input());
    if (project_) {
      for (const Operand& read : project_->reads()) {  // and its residual
        if (read.id() != project_->input().id()) reading(read);
      }
    }
    output_ = writing(project_ ? project_->output() : depthwise_->output());
    node = project_ ? project_->node : depthwise_->node;
  }

  const char* kernel() const override {
    return is_float16(depthwise_->dtype()) ? "inverted_residual_f16" : "inverted_residual_f32";
  }
  double flops() const override {
    return (expand_ ? expand_->flops() : 0) + depthwise_->flops() +
           (project_ ? project_->flops() : 0);
  }
  void run(const Memory& m) const override {
    if (is_float16(depthwise_->dtype())) {
      run_in<Float16>(m);
    } else {
      run_in<float>(m);
    }
  }

 private:
  template <typename T>
  void run_in(const Memory& m) const {
    kernels::InvertedResidual<T> layers;
    if (expand_) {
      layers.expand = expand_->packed();
      layers.expand_epilogue = expand_->epilogue<T>(m);
    }
    layers.depthwise = depthwise_->packed();
    layers.depthwise_epilogue = depthwise_->epilogue<T>(m);
    if (project_) {
      layers.project = project_->packed();
      layers.project_epilogue = project_->epilogue<T>(m);
    }
    kernels::inverted_residual<T>(shape_, m.data<T>(input_), m.stride(input_), layers,
                                  m.data<T>(output_), m.stride(output_));
  }

  template <typename S>
  static std::unique_ptr<S> as(std::unique_ptr<Step> step) {
    return std::unique_ptr<S>(static_cast<S*>(step.release()));
  }

  InvertedResidualShape shape_;
  Operand input_, output_;
  std::unique_ptr<ConvStep> expand_;
  std::unique_ptr<DepthwiseStep> depthwise_;
  std::unique_ptr<ConvStep> project_;
};

class Fuser : StepChains {
 public:
  using StepChains::StepChains;

  void run() {
    const int count = static_cast<int>(plan_.steps.size());
    for (int i = 0; i < count; ++i) fuse_before(i);
    for (int i = 0; i < count; ++i) {
      const int expand_at = expanding(i);
      if (expand_at >= 0) try_fuse(expand_at, i, -1);
    }
    remove_fused();
  }

 private:
  void fuse_before(int project_at) {
    const auto* project = at<ConvStep>(project_at);
    if (!project || !project->has_plain_panels()) return;
    const int depthwise_at = only_writer(project->input());
    if (!is_depthwise(depthwise_at)) return;
    const int expand_at = expanding(depthwise_at);
    if (expand_at >= 0 && try_fuse(expand_at, depthwise_at, project_at)) return;
    try_fuse(-1, depthwise_at, project_at);
  }

  bool is_depthwise(int place) const {
    const auto* depthwise = at<DepthwiseStep>(place);
    return depthwise && depthwise->shape().group == 1 && !depthwise->has_residual();
  }

  // The place of the pointwise convolution before the depthwise one at `place`, or -1.
  int expanding(int place) const {
    if (!is_depthwise(place)) return -1;
    const int expand_at = only_writer(at<DepthwiseStep>(place)->input());
    const auto* expand = at<ConvStep>(expand_at);
    return expand && expand->has_plain_panels() && !expand->has_residual() ? expand_at : -1;
  }

  // Of the convolution before the depthwise one and of the one behind it, one may be absent (-1).
  bool try_fuse(int expand_at, int depthwise_at, int project_at) {
    const auto& depthwise = *at<DepthwiseStep>(depthwise_at);
    const auto* expand = at<ConvStep>(expand_at);
    const auto* project = at<ConvStep>(project_at);
    InvertedResidualShape shape;
    shape.batch = depthwise.shape().batch;
    shape.hidden_channels = depthwise.shape().channels;
    shape.in_channels = expand ? expand->shape().in_channels : shape.hidden_channels;
    shape.out_channels = project ? project->shape().out_channels : shape.hidden_channels;
    shape.window = depthwise.shape().window;
    shape.weights = (project ? project : expand)->shape().weights;
    const auto element = static_cast<int64_t>(element_size(depthwise.dtype()));
    if (!kernels::inverted_residual_pays(shape, element)) return false;
    const int last = project ? project_at : depthwise_at;
    auto first = take(expand_at), second = take(depthwise_at), third = take(project_at);
    plan_.steps[static_cast<size_t>(last)] = std::make_unique<InvertedResidualStep>(
        shape, std::move(first), std::move(second), std::move(third));
    return true;
  }

  std::unique_ptr<Step> take(int place) {
    return place < 0 ? nullptr : std::move(plan_.steps[static_cast<size_t>(place)]);
  }
};

}  // namespace

void fuse_inverted_residuals(Plan& plan) { Fuser(plan).run(); }

}  // namespace torchlet::cpu
