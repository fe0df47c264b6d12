// Quantized convolutions and linear layers.
#include "base/checked.h"
#include "device/cpu/lower/lowering.h"
#include "device/cpu/lower/quantized_layer.h"
#include "device/cpu/lower/quantized_matrix.h"
#include "kernels/quantized/conv_nhwc_q8.h"
#include "kernels/quantized/dwconv_nhwc_q8.h"
#include "kernels/spatial/window_size.h"
#include "ops/core/common.h"
#include "ops/core/custom_class.h"
#include "ops/quantized/packed_params.h"

namespace torchlet::cpu {
namespace {

using kernels::Conv2dShape;
using kernels::LayerQ8;
using kernels::OutputQ8;
using kernels::Window2dShape;

// One of the kernels for layers with weights.
struct LayerKernel {
  const char* name;
  size_t (*packed_bytes)(const Conv2dShape&, const LayerQ8&);
  int (*form)(const Conv2dShape&, const LayerQ8&);
  void (*pack)(const Conv2dShape&, const LayerQ8&, void*);
  void (*run)(const Conv2dShape&, const uint8_t*, int64_t, const void*, const OutputQ8&, uint8_t*,
              int64_t);
};
constexpr LayerKernel kConv = {"conv_nhwc_q8", kernels::conv_nhwc_q8_packed_bytes,
                               kernels::conv_nhwc_q8_form, kernels::conv_nhwc_q8_pack,
                               kernels::conv_nhwc_q8};
constexpr LayerKernel kDepthwise = {"dwconv_nhwc_q8", kernels::dwconv_nhwc_q8_packed_bytes,
                                    kernels::dwconv_nhwc_q8_form, kernels::dwconv_nhwc_q8_pack,
                                    kernels::dwconv_nhwc_q8};
const LayerKernel& kernel_of(bool is_depthwise) { return is_depthwise ? kDepthwise : kConv; }

class LayerStep : public StepQ8 {
 public:
  LayerStep(const LayerKernel& kernel, const Conv2dShape& shape, Operand input, Operand output,
            const void* packed, std::shared_ptr<const Quantizer> quantizer, bool is_rectified)
      : StepQ8(std::move(quantizer), is_rectified),
        kernel_(kernel),
        shape_(shape),
        input_(reading(input)),
        output_(writing(output)),
        packed_(packed) {}
  const char* kernel() const override { return kernel_.name; }
  bool is_int8() const override { return true; }
  double flops() const override {
    const Window2dShape& w = shape_.window;
    return 2.0 *
           static_cast<double>(shape_.batch * w.out_h * w.out_w * shape_.out_channels *
                               (shape_.in_channels / shape_.groups) * w.kernel_h * w.kernel_w);
  }
  void run(const Memory& m) const override {
    kernel_.run(shape_, m.data<uint8_t>(input_), m.stride(input_), packed_, result(),
                m.data<uint8_t>(output_), m.stride(output_));
  }

 private:
  const LayerKernel& kernel_;
  Conv2dShape shape_;
  Operand input_, output_;
  const void* packed_;
};

void fill_layer(void* to, const bool& is_depthwise, const LayerForm<Conv2dShape>& shape,
                const Tensor& weight, const Tensor& bias, const kernels::AffineQ8& input,
                const float& output_scale) {
  QuantizedLayer layer(weight, bias);
  layer.set_scales(input, output_scale);
  kernel_of(is_depthwise).pack(shape.shape, *layer, to);
}

// The packed form depends on the quantization of what comes in and goes out, too.
const void* pack(PlanBuilder& plan, bool is_depthwise, const Conv2dShape& shape,
                 const Tensor& weight, const Tensor& bias, const kernels::AffineQ8& input,
                 const Quantizer& output) {
  const LayerKernel& kernel = kernel_of(is_depthwise);
  const float output_scale = affine_of(output).scale;
  QuantizedLayer layer(weight, bias);
  layer.set_scales(input, output_scale);
  return plan.packed(kernel.packed_bytes(shape, *layer), fill_layer, is_depthwise,
                     {shape, kernel.form(shape, *layer)}, weight, bias, input, output_scale);
}

Window2dShape window_of(const NhwcImage& input, const Surround& zeros, const Tensor& weight,
                        const ops::ConvParams& p) {
  if (p.stride.size() != 2 || p.padding.size() != 2 || p.dilation.size() != 2) {
    decline("an unusual window");
  }
  for (size_t d = 0; d < 2; ++d) {
    if (p.stride[d] < 1 || p.dilation[d] < 1 || p.padding[d] < 0) decline("an invalid window");
  }
  Window2dShape w{input.h,
                  input.w,
                  0,
                  0,
                  weight.size(2),
                  weight.size(3),
                  p.stride[0],
                  p.stride[1],
                  checked_add(p.padding[0], zeros.top),
                  checked_add(p.padding[1], zeros.left),
                  p.dilation[0],
                  p.dilation[1]};
  const int64_t height = checked_add(checked_add(w.in_h, zeros.top), zeros.bottom);
  const int64_t width = checked_add(checked_add(w.in_w, zeros.left), zeros.right);
  w.out_h =
      kernels::sliding_output_size(height, w.kernel_h, w.stride_h, p.padding[0], w.dilation_h);
  w.out_w = kernels::sliding_output_size(width, w.kernel_w, w.stride_w, p.padding[1], w.dilation_w);
  if (w.out_h < 1 || w.out_w < 1) decline("an empty result");
  return w;
}

// The scale and the zero point are the last arguments of every overload.
std::shared_ptr<const Quantizer> output_quantizer(const Call& call) {
  const size_t count = call.arguments.size();
  return quantizer_argument(call, count - 2, count - 1);
}

bool is_rectified(const Call& call) { return call.kind().name().ends_with("_relu"); }

NhwcImage lower_image(PlanBuilder& plan, const Call& call, TensorId id,
                      const Surround& zeros = {}) {
  const kernels::AffineQ8 affine = affine_of(plan, id);
  const char* weight_name = call.has_argument("packed_weight") ? "packed_weight" : "weight";
  const Value& packed_params = call.known(weight_name);
  if (!packed_params.is_custom()) decline("weights that are not known");
  const auto& params = ops::custom_object<ops::ConvPackedParams>(packed_params);
  const Tensor& weight = params.weight();
  const ops::ConvParams& p = params.params();
  if (p.transposed) decline("a transposed convolution");
  if (weight.dim() != 4 || weight.numel() == 0 || plan.info(id).dim() != 4) {
    decline("not an image");
  }
  const NhwcImage input = plan.as_image(id);
  const int64_t out_channels = weight.size(0);
  if (p.groups < 1 || checked_mul(weight.size(1), p.groups) != input.c ||
      out_channels % p.groups != 0) {
    decline("weights that do not fit");
  }
  const Conv2dShape shape{
      input.n, input.c, out_channels, p.groups, window_of(input, zeros, weight, p), plan.is_lean()};
  const auto quantizer = output_quantizer(call);
  const bool is_depthwise = p.groups == input.c && out_channels == input.c && input.c > 1;
  const void* packed = pack(plan, is_depthwise, shape, weight, params.bias(), affine, *quantizer);
  const NhwcImage output = plan.new_image(DType::kQUInt8, input.n, out_channels, shape.window.out_h,
                                          shape.window.out_w, quantizer);
  plan.add_step<LayerStep>(kernel_of(is_depthwise), shape, input, output, packed, quantizer,
                           is_rectified(call));
  return output;
}

void lower_conv2d(PlanBuilder& plan, const Call& call) {
  const Padded padded = without_zeros(plan, call);
  plan.define(call, lower_image(plan, call, plan.tensor(padded.image), padded.zeros).id);
}

// Of height 1, as its weights are.
void lower_conv1d(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.tensor(call, 0);
  if (plan.info(id).dim() != 3) decline("not a line");
  const TensorId image = plan.viewed(id, ops::unsqueeze(plan.shape_of(id), 2));
  const NhwcImage output = lower_image(plan, call, image);
  plan.define(call, plan.viewed(output.id, ops::squeeze(plan.shape_of(output.id), 2)));
}

// A pointwise convolution of an image of one line.
void lower_linear(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.tensor(call, 0);
  const kernels::AffineQ8 affine = affine_of(plan, id);
  const Value& packed_params = call.known("W_prepack");
  if (!packed_params.is_custom()) decline("weights that are not known");
  const auto [weight, bias] = ops::custom_object<ops::LinearPackedParams>(packed_params).unpack();
  if (!weight.is_quantized() || weight.numel() == 0) decline("weights that are not quantized");
  const Rows x = plan.as_rows(id);
  if (plan.info(id).dim() == 0 || x.cols != weight.size(1)) decline("weights that do not fit");
  const Conv2dShape shape{1, x.cols, weight.size(0), 1, Window2dShape{1, x.rows, 1, x.rows, 1, 1}};
  const auto quantizer = output_quantizer(call);
  const void* packed = pack(plan, false, shape, weight, bias, affine, *quantizer);
  IntArray sizes = plan.info(id).sizes;
  sizes.back() = weight.size(0);
  const Rows y = *plan.rows_view(plan.new_contiguous(DType::kQUInt8, sizes, quantizer));
  plan.add_step<LayerStep>(kConv, shape, x, y, packed, quantizer, is_rectified(call));
  plan.define(call, y.id);
}

}  // namespace

std::span<const Lowering> quantized_layer_lowerings() {
  static constexpr Lowering kTable[] = {
      {"quantized::conv1d", lower_conv1d},  {"quantized::conv1d_relu", lower_conv1d},
      {"quantized::conv2d", lower_conv2d},  {"quantized::conv2d_relu", lower_conv2d},
      {"_quantized::conv2d", lower_conv2d}, {"_quantized::conv2d_relu", lower_conv2d},
      {"quantized::linear", lower_linear},  {"quantized::linear_relu", lower_linear},
      {"_quantized::linear", lower_linear},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
