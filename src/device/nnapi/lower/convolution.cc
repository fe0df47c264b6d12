// Convolutions of images.
#include "base/checked.h"
#include "device/nnapi/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::nnapi {
namespace {

// What a filter is to NNAPI, which has three kinds.
enum class Kind : uint8_t { kPlain, kDepthwise, kGrouped };

Kind kind_of(const ConvArguments& a, int64_t channels) {
  if (a.groups == 1) return Kind::kPlain;
  return a.groups == channels ? Kind::kDepthwise : Kind::kGrouped;
}

LayerWeights weights_of(ModelBuilder& model, const Call& call, const ConvArguments& a,
                        const Tensor& filter, uint32_t channel_dim) {
  const TensorDescription input = model.describe(a.input);
  if (!input.quantizer) {
    require_float(input);
    return float_weights(model, filter, a.bias, a.weight.size(0));
  }
  return quantized_weights(model, filter, a.bias, channel_dim,
                           static_cast<float>(input.quantizer->scale),
                           static_cast<float>(model.result(call).quantizer->scale));
}

void check_windows(const ConvArguments& a) {
  for (size_t d = 0; d < 2; ++d) {
    if (a.stride[d] < 1 || a.dilation[d] < 1 || a.before[d] < 0 || a.after[d] < 0) {
      decline("an invalid window");
    }
  }
}

// left, right, top, bottom; strides in x and y.
void push_window(ModelBuilder& model, const ConvArguments& a, std::vector<OperandId>& inputs) {
  for (const int64_t value :
       {a.before[1], a.after[1], a.before[0], a.after[0], a.stride[1], a.stride[0]}) {
    inputs.push_back(model.scalar(to_int32(value)));
  }
}

std::array<int64_t, 2> pair(const IntArray& values) { return {values[0], values[1]}; }

void set_padding(const Call& call, ConvArguments& a) {
  if (!call.known("padding").is_string()) {
    a.before = a.after = pair(call.known_ints("padding", 2));
    return;
  }
  a.before = a.after = {0, 0};
  if (call.known("padding").to_string() == "valid") return;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t all = checked_mul(a.dilation[d], a.weight.size(static_cast<int64_t>(d) + 2) - 1);
    a.before[d] = all / 2;
    a.after[d] = all - a.before[d];
  }
}

void lower_transposed(ModelBuilder& model, const Call& call);

void lower_conv(ModelBuilder& model, const Call& call) {
  if (call.has_argument("transposed") && call.known_bool("transposed")) {
    return lower_transposed(model, call);
  }
  ConvArguments a{call.argument("input"),
                  call.known_tensor("weight"),
                  call.known_tensor("bias"),
                  {},
                  {},
                  {},
                  {},
                  call.known_int("groups")};
  if (a.weight.dim() != 4) decline("no convolution of images");
  a.stride = pair(call.known_ints("stride", 2));
  a.dilation = pair(call.known_ints("dilation", 2));
  set_padding(call, a);
  add_convolution(model, call, a);
}

// The weight is [in, out / groups, h, w].
void lower_transposed(ModelBuilder& model, const Call& call) {
  const Tensor weight = call.known_tensor("weight");
  if (weight.dim() != 4) decline("no convolution of images");
  const std::array<int64_t, 2> padding = pair(call.known_ints("padding", 2));
  add_transposed_convolution(
      model, call,
      {call.argument("input"), weight, call.known_tensor("bias"),
       pair(call.known_ints("stride", 2)), pair(call.known_ints("dilation", 2)), padding, padding,
       call.known_int("groups")},
      pair(call.known_ints("output_padding", 2)));
}

}  // namespace

void add_transposed_convolution(ModelBuilder& model, const Call& call, ConvArguments a,
                                const std::array<int64_t, 2>& output_padding) {
  model.require_level(ANEURALNETWORKS_FEATURE_LEVEL_3, "transposed convolutions");
  if (a.groups != 1) decline("a grouped transposed convolution");
  check_windows(a);
  if (a.dilation != std::array<int64_t, 2>{1, 1}) decline("a dilated transposed convolution");
  for (size_t d = 0; d < 2; ++d) {
    a.after[d] -= output_padding[d];
    if (a.after[d] < 0) decline("an output padding above the padding");
  }
  a.weight = ops::transpose(a.weight, 0, 1);
  const OperandId input = model.operand(a.input, Layout::kNhwc);
  const Tensor filter = ops::permute(a.weight, IntArray{0, 2, 3, 1});
  const auto [weights, bias] = weights_of(model, call, a, filter, 0);
  std::vector<OperandId> inputs = {input, weights, bias};
  push_window(model, a, inputs);
  const int activation = static_cast<int>(inputs.size());
  inputs.push_back(model.scalar(a.activation));
  inputs.push_back(model.scalar(false));
  model.add_result(call, ANEURALNETWORKS_TRANSPOSE_CONV_2D, std::move(inputs), Layout::kNhwc,
                   activation);
}

void add_convolution(ModelBuilder& model, const Call& call, const ConvArguments& a) {
  check_windows(a);
  const OperandId input = model.operand(a.input, Layout::kNhwc);
  const int64_t channels = model.describe(a.input).sizes[1], outputs = a.weight.size(0);
  if (a.weight.dim() != 4 || a.groups < 1 || outputs % a.groups != 0 ||
      checked_mul(a.weight.size(1), a.groups) != channels) {
    decline("weights that do not fit");
  }
  const Kind kind = kind_of(a, channels);
  const bool is_dilated = a.dilation[0] != 1 || a.dilation[1] != 1;
  if (is_dilated && kind == Kind::kGrouped) decline("a dilated grouped convolution");
  if (is_dilated) model.require_level(ANEURALNETWORKS_FEATURE_LEVEL_3, "dilated convolutions");
  const bool is_depthwise = kind == Kind::kDepthwise;
  const IntArray order = is_depthwise ? IntArray{1, 2, 3, 0} : IntArray{0, 2, 3, 1};
  const auto [weights, bias] =
      weights_of(model, call, a, ops::permute(a.weight, order), is_depthwise ? 3 : 0);
  std::vector<OperandId> inputs = {input, weights, bias};
  push_window(model, a, inputs);
  if (is_depthwise) inputs.push_back(model.scalar(to_int32(outputs / channels)));
  if (kind == Kind::kGrouped) inputs.push_back(model.scalar(to_int32(a.groups)));
  const int activation = static_cast<int>(inputs.size());
  inputs.push_back(model.scalar(a.activation));
  if (kind == Kind::kGrouped || is_dilated) inputs.push_back(model.scalar(false));
  if (is_dilated) {
    inputs.push_back(model.scalar(to_int32(a.dilation[1])));
    inputs.push_back(model.scalar(to_int32(a.dilation[0])));
  }
  const int32_t code = kind == Kind::kPlain ? ANEURALNETWORKS_CONV_2D
                       : is_depthwise       ? ANEURALNETWORKS_DEPTHWISE_CONV_2D
                                            : ANEURALNETWORKS_GROUPED_CONV_2D;
  model.add_result(call, code, std::move(inputs), Layout::kNhwc, activation);
}

std::span<const Lowering> convolution_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::conv2d", lower_conv, true},
      {"aten::_convolution", lower_conv, true},
      {"aten::convolution", lower_conv, true},
      {"aten::conv_transpose2d", lower_transposed, true},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
