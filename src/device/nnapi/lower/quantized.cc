// Quantized layers and arithmetic, and the way there and back.
#include "device/nnapi/lower/lowering.h"
#include "ops/core/custom_class.h"
#include "ops/quantized/packed_params.h"

namespace torchlet::nnapi {
namespace {

int32_t activation_of(const Call& call) {
  return call.kind().name().ends_with("_relu") ? ANEURALNETWORKS_FUSED_RELU
                                               : ANEURALNETWORKS_FUSED_NONE;
}

void require_quantized(const TensorDescription& description) {
  if (!description.quantizer) decline("a tensor that is not quantized");
}

const Value& packed(const Call& call, Arg arg) {
  const Value& params = call.known(arg);
  if (!params.is_custom()) decline("weights that are not known");
  return params;
}

void lower_conv(ModelBuilder& model, const Call& call) {
  const Arg arg = call.has_argument("packed_weight") ? "packed_weight" : "weight";
  const auto& layer = ops::custom_object<ops::ConvPackedParams>(packed(call, arg));
  const ops::ConvParams& p = layer.params();
  require_quantized(model.describe(call, 0));
  if (layer.weight().dim() != 4 || p.stride.size() != 2 || p.padding.size() != 2 ||
      p.dilation.size() != 2) {
    decline("no convolution of images");
  }
  const auto pair = [](const IntArray& a) { return std::array<int64_t, 2>{a[0], a[1]}; };
  const ConvArguments arguments = {call.argument(0), layer.weight(),   layer.bias(),
                                   pair(p.stride),   pair(p.dilation), pair(p.padding),
                                   pair(p.padding),  p.groups,         activation_of(call)};
  if (!p.transposed) return add_convolution(model, call, arguments);
  const bool is_padded = p.output_padding.size() == 2;
  add_transposed_convolution(model, call, arguments,
                             is_padded ? pair(p.output_padding) : std::array<int64_t, 2>{0, 0});
}

void lower_linear(ModelBuilder& model, const Call& call) {
  const auto& layer = ops::custom_object<ops::LinearPackedParams>(packed(call, "W_prepack"));
  require_quantized(model.describe(call, 0));
  const auto [weight, bias] = layer.unpack();
  add_linear(model, call, call.argument(0), weight, bias, activation_of(call));
}

// Of two quantized tensors.
void add_binary(ModelBuilder& model, const Call& call, int32_t code, bool is_product) {
  const TensorDescription a = model.describe(call, 0), b = model.describe(call, 1),
                          y = model.result(call);
  require_quantized(a);
  require_quantized(b);
  if (a.dtype != y.dtype || b.dtype != y.dtype) decline("tensors of several types");
  if (is_product && y.quantizer->scale <= a.quantizer->scale * b.quantizer->scale) {
    model.require_level(ANEURALNETWORKS_FEATURE_LEVEL_3,
                        "an output scale that is not above those of the inputs multiplied");
  }
  const bool are_images = a.sizes.size() == 4 && b.sizes.size() == 4;
  const Layout layout = are_images && (model.layout_at_hand(call.argument(0)) == Layout::kNhwc ||
                                       model.layout_at_hand(call.argument(1)) == Layout::kNhwc)
                            ? Layout::kNhwc
                            : Layout::kPlain;
  const OperandId left = model.operand(call, 0, layout), right = model.operand(call, 1, layout);
  const OperandId activation = model.scalar(activation_of(call));
  const bool is_free = activation_of(call) == ANEURALNETWORKS_FUSED_NONE;
  model.add_result(call, code, {left, right, activation}, layout, is_free ? 2 : -1);
}

void lower_add(ModelBuilder& model, const Call& call) {
  add_binary(model, call, ANEURALNETWORKS_ADD, false);
}
void lower_mul(ModelBuilder& model, const Call& call) {
  add_binary(model, call, ANEURALNETWORKS_MUL, true);
}

void lower_quantize(ModelBuilder& model, const Call& call) {
  require_float(model.describe(call, 0));
  require_quantized(model.result(call));
  const Held x = model.held(call, 0);
  model.add_result(call, ANEURALNETWORKS_QUANTIZE, {x.id}, x.layout);
}

void lower_dequantize(ModelBuilder& model, const Call& call) {
  if (call.outputs[0].is_list()) decline("a list of tensors");
  require_quantized(model.describe(call, 0));
  const Held x = model.held(call, 0);
  model.add_result(call, ANEURALNETWORKS_DEQUANTIZE, {x.id}, x.layout);
}

}  // namespace

std::span<const Lowering> quantized_lowerings() {
  static constexpr Lowering kTable[] = {
      {"quantized::conv2d", lower_conv, true},
      {"quantized::conv2d_relu", lower_conv, true},
      {"_quantized::conv2d", lower_conv, true},
      {"_quantized::conv2d_relu", lower_conv, true},
      {"quantized::conv_transpose2d", lower_conv, true},
      {"quantized::linear", lower_linear},
      {"quantized::linear_relu", lower_linear},
      {"_quantized::linear", lower_linear},
      {"quantized::add", lower_add},
      {"quantized::add_relu", lower_add},
      {"quantized::mul", lower_mul},
      {"quantized::mul_relu", lower_mul},
      {"aten::quantize_per_tensor", lower_quantize},
      {"aten::dequantize", lower_dequantize},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
