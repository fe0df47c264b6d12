#include "device/cpu/fuse_blocks.h"

#include "device/cpu/lower/conv_step.h"
#include "device/cpu/step_chains.h"
#include "kernels/conv_nhwc/inverted_residual.h"

namespace torchlet::cpu {
namespace {

using kernels::InvertedResidualShape;

class InvertedResidualStep : public Step {
 public:
  // `expand` may be null.
  InvertedResidualStep(const InvertedResidualShape& shape, std::unique_ptr<Step> expand,
                       std::unique_ptr<Step> depthwise, std::unique_ptr<Step> project)
      : shape_(shape),
        expand_(as<ConvStep>(std::move(expand))),
        depthwise_(as<DepthwiseStep>(std::move(depthwise))),
        project_(as<ConvStep>(std::move(project))) {
    input_ = reading(expand_ ? expand_->input() : depthwise_->input());
    for (const Operand& read : project_->reads()) {  // and its residual
      if (read.id() != project_->input().id()) reading(read);
    }
    output_ = writing(project_->output());
    node = project_->node;
  }

  const char* kernel() const override {
    return is_float16(depthwise_->dtype()) ? "inverted_residual_f16" : "inverted_residual_f32";
  }
  double flops() const override {
    return (expand_ ? expand_->flops() : 0) + depthwise_->flops() + project_->flops();
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
    layers.project = project_->packed();
    layers.project_epilogue = project_->epilogue<T>(m);
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
    for (size_t i = 0; i < plan_.steps.size(); ++i) fuse_at(i);
    remove_fused();
  }

 private:
  void fuse_at(size_t i) {
    const auto* project = at<ConvStep>(static_cast<int>(i));
    if (!project || !project->is_pointwise()) return;
    const int depthwise_at = only_writer(project->input());
    const auto* depthwise = at<DepthwiseStep>(depthwise_at);
    if (!depthwise || depthwise->shape().group > 1 || depthwise->has_residual()) return;
    const int expand_at = only_writer(depthwise->input());
    const auto* expand = at<ConvStep>(expand_at);
    const bool expands = expand && expand->is_pointwise() && !expand->has_residual();
    if (expands && try_fuse(i, depthwise_at, expand_at)) return;
    try_fuse(i, depthwise_at, -1);
  }

  bool try_fuse(size_t project_at, int depthwise_at, int expand_at) {
    auto& steps = plan_.steps;
    const auto& depthwise = *at<DepthwiseStep>(depthwise_at);
    const auto* expand = at<ConvStep>(expand_at);
    InvertedResidualShape shape;
    shape.batch = depthwise.shape().batch;
    shape.hidden_channels = depthwise.shape().channels;
    shape.in_channels = expand ? expand->shape().in_channels : shape.hidden_channels;
    shape.out_channels = at<ConvStep>(static_cast<int>(project_at))->shape().out_channels;
    shape.window = depthwise.shape().window;
    shape.weights = at<ConvStep>(static_cast<int>(project_at))->shape().weights;
    const auto element = static_cast<int64_t>(element_size(depthwise.dtype()));
    if (!kernels::inverted_residual_pays(shape, element)) return false;
    std::unique_ptr<Step> first;
    if (expand) first = std::move(steps[static_cast<size_t>(expand_at)]);
    steps[project_at] = std::make_unique<InvertedResidualStep>(
        shape, std::move(first), std::move(steps[static_cast<size_t>(depthwise_at)]),
        std::move(steps[project_at]));
    return true;
  }
};

}  // namespace

void fuse_inverted_residuals(Plan& plan) { Fuser(plan).run(); }

}  // namespace torchlet::cpu
