// Convolutions: NHWC images, weights packed once.
#include "base/checked.h"
#include "device/cpu/lower/conv_step.h"
#include "device/cpu/lower/lowering.h"
#include "kernels/spatial/window_size.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

using kernels::ConvNhwcShape;
using kernels::DwConvShape;
using kernels::Window2dShape;

struct ConvArguments {
  TensorId input;
  Tensor weight, bias;
  IntArray stride, padding, dilation;  // two of each
  int64_t groups;
  Surround zeros = {};  // around the input, besides the padding
};

// A product of one channel with fewer outputs would leave a part of a vector empty.
constexpr int64_t kFullVectors = 16;

// Each channel so many times, one beside the other; planes stay planes.
TensorId with_repeated_channels(PlanBuilder& plan, TensorId id, int64_t times) {
  if (!plan.image_view(id)) {
    const PlanTensor t = plan.info(id);
    const IntArray apart{t.sizes[0], t.sizes[1], times, t.sizes[2], t.sizes[3]};
    const IntArray strides{t.strides[0], t.strides[1], 0, t.strides[2], t.strides[3]};
    const IntArray sizes{t.sizes[0], t.sizes[1] * times, t.sizes[2], t.sizes[3]};
    const TensorId spread = plan.new_view(id, apart, strides, t.offset);
    return plan.new_view(plan.contiguous(spread), sizes, contiguous_strides(sizes), 0);
  }
  const NhwcImage image = plan.as_image(id);
  const PlanTensor t = plan.info(image.id);
  const IntArray s = t.strides;
  const IntArray apart{image.n, image.h, image.w, image.c, times};
  const TensorId spread =
      plan.new_view(image.id, apart, IntArray{s[0], s[2], s[3], s[1], 0}, t.offset);
  const IntArray sizes{image.n, image.c * times, image.h, image.w};
  return plan.new_view(plan.contiguous(spread), sizes, image_strides(sizes), 0);
}

// Input and weight have four dimensions.
NhwcImage lower_image(PlanBuilder& plan, ConvArguments a) {
  const IntSpan w = a.weight.sizes();
  if (selection::kHasRareConvolutions && a.groups > 1 && w[1] == 1 && w[0] % a.groups == 0 &&
      plan.info(a.input).sizes[1] == a.groups) {
    const int64_t outputs_each = w[0] / a.groups;
    if (outputs_each > 1 && outputs_each < kFullVectors) {
      a.input = with_repeated_channels(plan, plan.in_precision(a.input), outputs_each);
      a.groups = w[0];
    }
  }
  const IntArray in = plan.info(a.input).sizes;
  const int64_t batch = in[0], channels = in[1];
  const int64_t height = checked_add(checked_add(in[2], a.zeros.top), a.zeros.bottom);
  const int64_t width = checked_add(checked_add(in[3], a.zeros.left), a.zeros.right);
  if (plan.info(a.input).numel() == 0) decline("an empty tensor");
  Window2dShape window{in[2],
                       in[3],
                       0,
                       0,
                       w[2],
                       w[3],
                       a.stride[0],
                       a.stride[1],
                       checked_add(a.padding[0], a.zeros.top),
                       checked_add(a.padding[1], a.zeros.left),
                       a.dilation[0],
                       a.dilation[1]};
  for (size_t d = 0; d < 2; ++d) {
    if (a.stride[d] < 1 || a.dilation[d] < 1 || a.padding[d] < 0) decline("an invalid window");
  }
  window.out_h =
      kernels::sliding_output_size(height, w[2], a.stride[0], a.padding[0], a.dilation[0]);
  window.out_w =
      kernels::sliding_output_size(width, w[3], a.stride[1], a.padding[1], a.dilation[1]);
  if (window.out_h < 1 || window.out_w < 1) decline("an empty result");
  if (a.groups < 1 || checked_mul(w[1], a.groups) != channels || w[0] % a.groups != 0 ||
      w[0] == 0) {
    decline("weights that do not fit");
  }
  const DwConvShape filter{batch, channels, window, w[1]};
  const ConvNhwcShape shape{.batch = batch,
                            .in_channels = channels,
                            .out_channels = w[0],
                            .groups = a.groups,
                            .window = window,
                            .lean = plan.is_lean(),
                            .strassen = true,
                            .weights = plan.weight_format(a.weight.dtype())};
  // Tiles for groups are faster for one group of few channels, too, but than Winograd only by
  // Winograd, and than vectors of pixels only if those of channels are full.
  const int form = kernels::conv_nhwc_f32_form(shape);
  const bool is_depthwise =
      w[0] == channels && channels > 1 &&
      (w[1] == 1 ||
       (plan.real_dtype() == DType::kFloat32 && kernels::dwconv_takes(filter) &&
        (form == 0 || kernels::dwconv_nhwc_f32_form(filter) == kernels::kDwConvWinograd ||
         (form == kernels::kVectorsOfPixels && channels % kFullVectors == 0))));
  const PlanTensor& t = plan.info(a.input);
  const bool reads_nchw = !is_depthwise && t.dtype == DType::kFloat32 &&
                          !plan.image_view(a.input) &&
                          is_contiguous_as(t.sizes, t.strides, MemoryFormat::kContiguous) &&
                          kernels::conv_nhwc_reads_nchw(shape);
  if (!reads_nchw) a.input = plan.in_precision(a.input);
  const DType dtype = plan.real_dtype();
  const NhwcImage output = plan.new_image(dtype, batch, w[0], window.out_h, window.out_w);
  const float* bias = keep_bias(plan, a.bias, a.weight, w[0]);
  if (is_depthwise) {
    const NhwcImage input = plan.as_image(a.input);
    const void* filters = pack_depthwise(plan, dtype, filter, a.weight);
    plan.add_step<DepthwiseStep>(dtype, filter, input, output, filters, bias);
    return output;
  }
  const void* weights = pack_conv(plan, dtype, shape, a.weight);
  const Operand input = reads_nchw ? Operand::fixed(a.input) : Operand(plan.as_image(a.input));
  plan.add_step<ConvStep>(dtype, shape, input, output, weights, bias, reads_nchw);
  return output;
}

void lower(PlanBuilder& plan, const Call& call, ConvArguments a) {
  const DType dtype = a.weight.dtype();
  const PlanTensor& t = plan.info(a.input);
  if (t.dim() == 4 && a.weight.dim() == 4) {
    return plan.define_layer(call, lower_image(plan, a).id, dtype);
  }
  // A 1d convolution is one of height 1.
  if (t.dim() != 3 || a.weight.dim() != 3) decline("not an image");
  a.weight = ops::unsqueeze(a.weight, 2);
  a.stride.insert(a.stride.begin(), 1);
  a.padding.insert(a.padding.begin(), 0);
  a.dilation.insert(a.dilation.begin(), 1);
  a.input = plan.viewed(a.input, ops::unsqueeze(plan.shape_of(a.input), 2));
  const NhwcImage output = lower_image(plan, a);
  const Tensor line = ops::squeeze(plan.shape_of(output.id), 2);
  plan.define_layer(call, plan.viewed(output.id, line), dtype);
}

// padding="same" is as much as keeps the size; of an odd number of zeros the last comes behind.
void pad_by_name(const std::string& name, size_t spatial, ConvArguments& a) {
  a.padding = IntArray(spatial, 0);
  if (name == "valid") return;
  const IntSpan w = a.weight.sizes();
  if (name != "same" || spatial > 2) decline("another padding");
  for (size_t d = 0; d < spatial; ++d) {
    if (a.stride[d] != 1) decline("padding=\"same\" with a stride");
    const int64_t zeros = checked_mul(a.dilation[d], w[2 + d] - 1);
    if (zeros < 0) decline("an invalid window");
    a.padding[d] = zeros / 2;
    int64_t& behind = d + 1 == spatial ? a.zeros.right : a.zeros.bottom;
    behind = checked_add(behind, zeros % 2);
  }
}

class TransposedStep : public EpilogueStep {
 public:
  TransposedStep(const ConvNhwcShape& shape, Operand input, Operand output, const void* packed,
                 const float* bias)
      : EpilogueStep(bias),
        shape_(shape),
        input_(reading(input)),
        output_(writing(output)),
        packed_(packed) {}
  const char* kernel() const override { return "conv_transpose_nhwc_f32"; }
  void run(const Memory& m) const override {
    kernels::conv_transpose_nhwc_f32(shape_, m.data<float>(input_), m.stride(input_), packed_,
                                     epilogue<float>(m), m.data<float>(output_), m.stride(output_));
  }

 private:
  ConvNhwcShape shape_;
  Operand input_, output_;
  const void* packed_;
};

void fill_transposed(void* to, const LayerForm<ConvNhwcShape>& layer, const Tensor& weight) {
  const Tensor dense = weight.contiguous();
  kernels::conv_transpose_nhwc_f32_pack(layer.shape, dense.data_ptr<float>(), to);
}

// The weight is [C, O / groups, kh, kw], of one line [C, O / groups, kw].
void lower_transposed(PlanBuilder& plan, const Call& call) {
  TensorId id = plan.tensor_of(call, 0, DType::kFloat32);
  Tensor weight = call.known_tensor("weight");
  const bool is_line = weight.dim() == 3;
  if ((weight.dim() != 4 && !is_line) || weight.dtype() != DType::kFloat32) {
    decline("unusual weights");
  }
  if (plan.info(id).dim() != weight.dim()) decline("not an image");
  // Of one line, a height of 1 comes before the width.
  const auto pair = [&](const char* name, int64_t height) {
    IntArray two = call.known_ints(name, is_line ? 1 : 2);
    if (is_line) two.insert(two.begin(), height);
    return two;
  };
  const IntArray stride = pair("stride", 1), dilation = pair("dilation", 1);
  const IntArray padding = pair("padding", 0), extra = pair("output_padding", 0);
  int64_t groups = call.known_int("groups");
  if (is_line) {
    weight = ops::unsqueeze(weight, 2);
    id = plan.viewed(id, ops::unsqueeze(plan.shape_of(id), 2));
  }
  if (selection::kHasRareConvolutions && groups == weight.size(0) && weight.size(1) > 1 &&
      weight.size(1) < kFullVectors && plan.info(id).sizes[1] == groups) {
    id = with_repeated_channels(plan, id, weight.size(1));
    weight = ops::reshape(weight, IntArray{-1, 1, weight.size(2), weight.size(3)});
    groups = weight.size(0);
  }
  const NhwcImage input = plan.as_image(id);
  const IntSpan w = weight.sizes();
  if (groups < 1 || w[0] != input.c || w[0] % groups != 0 || w[1] == 0) decline("groups");
  IntArray out;
  for (size_t d = 0; d < 2; ++d) {
    if (stride[d] < 1 || dilation[d] < 1 || padding[d] < 0 || extra[d] < 0) decline("a window");
    const int64_t in = d == 0 ? input.h : input.w;
    out.push_back(kernels::transposed_output_size(in, w[2 + d], stride[d], padding[d], dilation[d],
                                                  extra[d]));
    if (out[d] < 1) decline("an empty result");
  }
  const ConvNhwcShape shape{input.n,
                            input.c,
                            w[1] * groups,
                            groups,
                            {input.h, input.w, out[0], out[1], w[2], w[3], stride[0], stride[1],
                             padding[0], padding[1], dilation[0], dilation[1]}};
  // Below, a tap is too narrow a product. Then the kernel adds what all taps of a line give at
  // once, if that is long enough, and else the reference is as fast.
  constexpr int64_t kLeastColumns = 16, kLeastLine = 12;
  if (w[1] < kLeastColumns && (groups > 1 || w[1] * w[3] < kLeastLine) &&
      !kernels::conv_transpose_is_depthwise(shape)) {
    decline("few channels of a transposed convolution");
  }
  const NhwcImage output =
      plan.new_image(DType::kFloat32, input.n, shape.out_channels, out[0], out[1]);
  const void* packed = plan.packed(kernels::conv_transpose_nhwc_f32_packed_bytes(shape),
                                   fill_transposed, {shape}, weight);
  const float* bias = keep_bias(plan, call.known_tensor("bias"), weight, shape.out_channels);
  plan.add_step<TransposedStep>(shape, input, output, packed, bias);
  plan.define(call, is_line ? plan.viewed(output.id, ops::squeeze(plan.shape_of(output.id), 2))
                            : output.id);
}

void lower_conv(PlanBuilder& plan, const Call& call) {
  if constexpr (selection::kHasVolumes) {
    if (call.known_tensor("weight").dim() == 5) return lower_conv3d(plan, call);
  }
  if constexpr (selection::has_operator("aten::_convolution") ||
                selection::has_operator("aten::convolution")) {
    if (call.has_argument("transposed") && call.known_bool("transposed")) {
      return lower_transposed(plan, call);
    }
  }
  ConvArguments a;
  const Padded padded = without_zeros(plan, call);
  a.zeros = padded.zeros;
  a.weight = call.known_tensor("weight");
  a.input = plan.layer_tensor(padded.image, a.weight.dtype());
  a.bias = call.known_tensor("bias");
  if (a.weight.dim() < 3) decline("weights of another rank");
  const size_t spatial = static_cast<size_t>(a.weight.dim()) - 2;
  a.stride = call.known_ints("stride", spatial);
  a.dilation = call.known_ints("dilation", spatial);
  if (call.known("padding").is_string()) {
    pad_by_name(call.known("padding").to_string(), spatial, a);
  } else {
    a.padding = call.known_ints("padding", spatial);
  }
  a.groups = call.known_int("groups");
  lower(plan, call, std::move(a));
}

}  // namespace

std::span<const Lowering> convolution_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::conv1d", lower_conv},
      {"aten::conv2d", lower_conv},
      {"aten::_convolution", lower_conv},
      {"aten::_convolution_mode", lower_conv},
      {"aten::convolution", lower_conv},
      {"aten::conv_transpose1d", lower_transposed},
      {"aten::conv_transpose2d", lower_transposed},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
