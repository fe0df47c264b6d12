#include "device/cpu/fuse_planes.h"

#include "device/cpu/copy_step.h"
#include "device/cpu/lower/conv_step.h"
#include "device/cpu/step_chains.h"
#include "kernels/conv_nhwc/pointwise_planes.h"

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

// A pointwise layer without the changes of order before and after it.
class PointwisePlanesStep : public Step {
 public:
  PointwisePlanesStep(std::unique_ptr<ConvStep> layer, const kernels::PointwisePlanesShape& shape,
                      Operand input, Operand output)
      : layer_(std::move(layer)), shape_(shape), input_(reading(input)), output_(writing(output)) {
    node = layer_->node;
  }
  const char* kernel() const override { return "pointwise_planes_f32"; }
  double flops() const override { return layer_->flops(); }
  void run(const Memory& m) const override {
    kernels::pointwise_planes_f32(shape_, m.data<float>(input_), layer_->packed(),
                                  layer_->epilogue<float>(m), m.data<float>(output_));
  }

 private:
  std::unique_ptr<ConvStep> layer_;
  kernels::PointwisePlanesShape shape_;
  Operand input_, output_;
};

class PlanesFuser : StepChains {
 public:
  using StepChains::StepChains;

  void run() {
    for (int i = 0; i < static_cast<int>(plan_.steps.size()); ++i) {
      if (const auto* layer = at<DepthwiseStep>(i)) fuse_depthwise(*layer, i);
      if (const auto* layer = at<ConvStep>(i)) fuse_pointwise(*layer, i);
    }
    remove_fused();
  }

 private:
  // The changes of order around a layer, at -1 if there is none that it can do without, and what it
  // reads and writes then.
  struct Ends {
    int before = -1, after = -1;
    Operand input, output;
  };
  const PlanTensor& tensor(Operand operand) const {
    return plan_.tensors[static_cast<size_t>(operand.id())];
  }
  // [n, c, w], [n, c, h, w], and volumes where the layer does not look at their planes one by one.
  bool are_planes(Operand operand, int64_t most_dims) const {
    const PlanTensor& t = tensor(operand);
    return t.dim() >= 3 && t.dim() <= most_dims &&
           is_contiguous_as(t.sizes, t.strides, MemoryFormat::kContiguous);
  }

  // An image of one channel is one.
  bool is_plane(Operand operand) const {
    return are_planes(operand, 5) && tensor(operand).sizes[1] == 1;
  }

  Ends ends_of(Operand input, int place, Operand output, int64_t most_dims) const {
    Ends ends{.input = input, .output = output};
    const int before_at = only_writer(input), after_at = only_reader(output);
    const auto* before = at<CopyStep>(before_at);
    const auto* after = at<CopyStep>(after_at);
    if (after && sees_the_same(tensor(after->from()), tensor(output)) &&
        are_planes(after->to(), most_dims)) {
      ends.after = after_at;
      ends.output = Operand::fixed(after->to().id());
    }
    const int last = ends.after < 0 ? place : ends.after;
    if (before && are_planes(before->from(), most_dims) &&
        !is_written_between(before->from(), before_at, last)) {
      ends.before = before_at;
      ends.input = Operand::fixed(before->from().id());
    }
    return ends;
  }

  // Puts what `make` makes of the step there in the place of all three.
  template <typename Layer, typename Make>
  void replace(int place, const Ends& ends, const Make& make) {
    const auto step = [&](int at) -> auto& { return plan_.steps[static_cast<size_t>(at)]; };
    std::unique_ptr<Layer> taken(static_cast<Layer*>(step(place).release()));
    if (ends.before >= 0) step(ends.before).reset();
    step(ends.after < 0 ? place : ends.after) = make(std::move(taken));
  }

  void fuse_depthwise(const DepthwiseStep& layer, int place) {
    if (is_float16(layer.dtype()) || layer.has_residual()) return;
    const Ends ends = ends_of(layer.input(), place, layer.output(), 4);
    if (ends.before < 0 && ends.after < 0) return;
    replace<DepthwiseStep>(place, ends, [&](auto taken) {
      return std::make_unique<DepthwisePlanesStep>(std::move(taken), ends.input, ends.output);
    });
  }

  void fuse_pointwise(const ConvStep& layer, int place) {
    if (is_float16(layer.dtype()) || layer.has_residual() || !layer.has_plain_panels() ||
        kernels::conv_nhwc_f32_weights(layer.shape()) != kernels::WeightFormat::kFloat32) {
      return;
    }
    const Ends ends = ends_of(layer.input(), place, layer.output(), 5);
    if (ends.before < 0 && !is_plane(ends.input)) return;
    if (ends.after < 0 && !is_plane(ends.output)) return;
    const IntArray& sizes = tensor(ends.input).sizes;
    if (tensor(ends.input).numel() == 0) return;
    const kernels::PointwisePlanesShape shape{
        .batch = sizes[0],
        .in_channels = layer.shape().in_channels,
        .out_channels = layer.shape().out_channels,
        .pixels = tensor(ends.input).numel() / (sizes[0] * sizes[1])};
    if (!kernels::suits_pointwise_planes(shape)) return;
    replace<ConvStep>(place, ends, [&](auto taken) {
      return std::make_unique<PointwisePlanesStep>(std::move(taken), shape,
                                                   Operand::fixed(ends.input.id()),
                                                   Operand::fixed(ends.output.id()));
    });
  }
};

}  // namespace

void fuse_planes(Plan& plan) { PlanesFuser(plan).run(); }

}  // namespace torchlet::cpu
