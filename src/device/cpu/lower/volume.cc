// Convolutions of volumes, transposed ones too.
#include <array>

#include "base/checked.h"
#include "device/cpu/lower/conv_step.h"
#include "device/cpu/lower/lowering.h"
#include "kernels/conv_nhwc/conv3d_nhwc.h"
#include "kernels/spatial/window_size.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

using kernels::Conv3dNhwc;
using kernels::Conv3dNhwcShape;
using kernels::ConvNhwcShape;
using kernels::DwConvShape;
using kernels::WindowAxis;

// Wider windows and strides than this are left to the reference.
constexpr int64_t kMostReach = 1024, kMostStride = 64;

class Conv3dStep : public EpilogueStep {
 public:
  Conv3dStep(const Conv3dNhwcShape& shape, Operand input, Operand output, const void* packed,
             const float* bias)
      : EpilogueStep(bias),
        transposed_(shape.transposed),
        conv_(shape),
        input_(reading(input)),
        output_(writing(output)),
        packed_(static_cast<const float*>(packed)) {}
  const char* kernel() const override {
    return transposed_ ? "conv_transpose3d_nhwc_f32" : "conv3d_nhwc_f32";
  }
  double flops() const override { return conv_.flops(); }
  void run(const Memory& m) const override {
    conv_.run(m.data<float>(input_), m.stride(input_), packed_, epilogue<float>(m),
              m.data<float>(output_), m.stride(output_));
  }

 private:
  bool transposed_;
  Conv3dNhwc conv_;
  Operand input_, output_;
  const float* packed_;
};

void fill_conv3d(void* to, const LayerForm<Conv3dNhwcShape>& layer, const ByRows& weight) {
  FilterReader filters(weight);
  Conv3dNhwc(layer.shape).pack(filters, static_cast<float*>(to));
}

// One dimension of the window; adds the zeros in front.
WindowAxis axis_of(const Call& call, bool transposed, size_t d, int64_t in, int64_t kernel) {
  WindowAxis axis{
      in, 0, kernel, call.known_ints("stride", 3)[d], 0, call.known_ints("dilation", 3)[d]};
  if (axis.stride < 1 || axis.dilation < 1) decline("an invalid window");
  const int64_t reach = kernels::window_reach(kernel, axis.dilation);
  int64_t behind = 0;  // more zeros than in front
  if (!call.known("padding").is_string()) {
    axis.pad = call.known_ints("padding", 3)[d];
  } else if (const std::string name = call.known("padding").to_string(); name != "valid") {
    if (name != "same" || axis.stride != 1) decline("another padding");
    axis.pad = (reach - 1) / 2;
    behind = (reach - 1) % 2;
  }
  if (axis.pad < 0 || axis.pad >= reach || reach > kMostReach || axis.stride > kMostStride) {
    decline("an unusual window");
  }
  if (transposed) {
    const int64_t extra = call.known_ints("output_padding", 3)[d];
    if (extra < 0) decline("an unusual window");
    axis.out =
        kernels::transposed_output_size(in, kernel, axis.stride, axis.pad, axis.dilation, extra);
  } else {
    axis.out = kernels::sliding_output_size(checked_add(in, behind), kernel, axis.stride, axis.pad,
                                            axis.dilation);
  }
  if (axis.out < 1) decline("an empty result");
  return axis;
}

bool stays(const WindowAxis& axis) {
  return axis.kernel == 1 && axis.stride == 1 && axis.pad == 0 && axis.in == axis.out;
}

// What slides along two dimensions only is a convolution of images.
std::optional<kernels::Window2dShape> window_of_images(const Conv3dNhwcShape& s, int64_t* batch) {
  if (s.transposed) return std::nullopt;
  const auto window = [](const WindowAxis& h, const WindowAxis& w) {
    return kernels::Window2dShape{h.in,     w.in,     h.out, w.out, h.kernel,   w.kernel,
                                  h.stride, w.stride, h.pad, w.pad, h.dilation, w.dilation};
  };
  if (stays(s.depth)) {  // each plane is an image
    *batch = s.batch * s.depth.in;
    return window(s.height, s.width);
  }
  if (stays(s.height) && stays(s.width)) {  // each plane is a line
    *batch = s.batch;
    const int64_t plane = s.height.in * s.width.in;
    return window(s.depth, {plane, plane, 1});
  }
  return std::nullopt;
}

}  // namespace

void lower_conv3d(PlanBuilder& plan, const Call& call) {
  const Tensor weight = call.known_tensor("weight"), bias = call.known_tensor("bias");
  const TensorId id = plan.real_tensor(call, 0);
  const IntArray in = plan.info(id).sizes;
  const IntSpan w = weight.sizes();
  if (in.size() != 5 || w.size() != 5) decline("not a volume");
  if (weight.dtype() != DType::kFloat32) decline("another dtype");
  if (plan.info(id).numel() == 0 || weight.numel() == 0) decline("an empty tensor");
  const bool transposed = call.has_argument("transposed") ? call.known_bool("transposed")
                                                          : call.has_argument("output_padding");
  const int64_t groups = call.known_int("groups");
  const int64_t weight_in = transposed ? w[0] : checked_mul(w[1], groups);
  const int64_t channels = transposed ? checked_mul(w[1], groups) : w[0];
  if (groups < 1 || weight_in != in[1] || w[0] % groups != 0) decline("weights that do not fit");
  const Conv3dNhwcShape shape{.batch = in[0],
                              .in_channels = in[1],
                              .out_channels = channels,
                              .groups = groups,
                              .transposed = transposed,
                              .depth = axis_of(call, transposed, 0, in[2], w[2]),
                              .height = axis_of(call, transposed, 1, in[3], w[3]),
                              .width = axis_of(call, transposed, 2, in[4], w[4])};
  const IntArray sizes{in[0], channels, shape.depth.out, shape.height.out, shape.width.out};
  const float* kept_bias = keep_bias(plan, bias, weight, channels);
  int64_t batch = 0;
  if (const auto window = window_of_images(shape, &batch)) {
    const DType dtype = plan.real_dtype();
    const NhwcImage input = plan.as_image(plan.in_precision(id), 5);
    const NhwcImage output = plan.new_image(dtype, sizes);
    const Tensor filters =
        ops::reshape(weight, IntArray{w[0], w[1], window->kernel_h, window->kernel_w});
    if (groups == in[1] && groups == channels && groups > 1) {
      const DwConvShape depthwise{batch, channels, *window};
      const void* packed = pack_depthwise(plan, dtype, depthwise, filters);
      plan.add_step<DepthwiseStep>(dtype, depthwise, input, output, packed, kept_bias);
    } else {
      const ConvNhwcShape conv{.batch = batch,
                               .in_channels = in[1],
                               .out_channels = channels,
                               .groups = groups,
                               .window = *window,
                               .lean = plan.is_lean(),
                               .strassen = true,
                               .weights = plan.weight_format()};
      const void* packed = pack_conv(plan, dtype, conv, filters);
      plan.add_step<ConvStep>(dtype, conv, input, output, packed, kept_bias);
    }
    return plan.define(call, output.id);
  }
  const NhwcImage input = plan.as_image(plan.tensor_of(call, 0, DType::kFloat32), 5);
  const NhwcImage output = plan.new_image(DType::kFloat32, sizes);
  const Conv3dNhwc conv(shape);
  const void* packed = plan.packed(conv.packed_bytes(), fill_conv3d, {shape, conv.form()}, weight);
  plan.add_step<Conv3dStep>(shape, input, output, packed, kept_bias);
  plan.define(call, output.id);
}

std::span<const Lowering> volume_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::conv3d", lower_conv3d},
      {"aten::conv_transpose3d", lower_conv3d},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
