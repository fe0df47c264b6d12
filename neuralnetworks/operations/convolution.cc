// Convolutions. Filters are [out, height, width, in]; PyTorch's are [out, in, height, width].
#include "base/error.h"
#include "neuralnetworks/operations/window.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {
namespace {

struct Sliding {
  SsaValue* image;  // NCHW, quantized or real
  Arg stride, padding, dilation;
};

Sliding sliding_of(Emitter& emit, const Call& call) {
  const uint32_t filter = call.index("filter");
  const Padding padding = padding_of(emit, call, emit.size(filter, 1), emit.size(filter, 2));
  const bool quantized = is_quantized(call.operand("input").type);
  SsaValue* image = quantized ? emit.image(call, "input") : emit.real_image(call, "input");
  const bool is_symmetric = padding.is_symmetric();
  if (!is_symmetric) image = padded(emit, image, padding);
  return {image,
          strides_of(call),
          {is_symmetric ? padding.top : 0, is_symmetric ? padding.left : 0},
          dilations_of(call)};
}

// A convolution of PyTorch's, whatever the type; `order` is that of its filter's dimensions in
// NNAPI's.
void convolution(Emitter& emit, const Call& call, const Sliding& sliding,
                 std::initializer_list<Arg> order, const Arg& groups) {
  int64_t activation = call.integer("activation");
  if (is_quantized(call.operand("input").type)) {
    activation = needed_activation(activation, call.output());
    SsaValue* filter = emit.value(call, "filter");
    SsaValue* weight = emit.call("nnapi::quantized_filter", {filter, order});
    SsaValue* bias =
        emit.call("nnapi::quantized_bias",
                  {emit.value(call, "bias"), double{call.operand("input").scale}, filter});
    SsaValue* packed =
        emit.call("quantized::conv2d_prepack",
                  {weight, bias, sliding.stride, sliding.padding, sliding.dilation, groups});
    const bool relu = activation == ANEURALNETWORKS_FUSED_RELU;
    SsaValue* result = emit.call(
        relu ? "quantized::conv2d_relu.new" : "quantized::conv2d.new",
        {sliding.image, packed, double{call.output().scale}, held_zero_point(call.output())});
    return emit.give_image(call, relu ? result : emit.activate(result, activation));
  }
  SsaValue* weight = emit.call("aten::permute", {emit.real(call, "filter"), order});
  SsaValue* result =
      emit.call("aten::conv2d", {sliding.image, weight, emit.real(call, "bias"), sliding.stride,
                                 sliding.padding, sliding.dilation, groups});
  emit.give_real_image(call, emit.activate(result, activation));
}

void conv_2d(Emitter& emit, const Call& call) {
  convolution(emit, call, sliding_of(emit, call), {0, 3, 1, 2}, 1);
}

void grouped_conv_2d(Emitter& emit, const Call& call) {
  convolution(emit, call, sliding_of(emit, call), {0, 3, 1, 2}, call.integer("num_groups"));
}

// The filter is [1, height, width, out]: `depth_multiplier` of them for each channel, one after the
// other, so that there are as many groups as channels.
void depthwise_conv_2d(Emitter& emit, const Call& call) {
  const int64_t multiplier = call.integer("depth_multiplier");
  TORCHLET_CHECK(multiplier > 0, "depth_multiplier is %lld", static_cast<long long>(multiplier));
  const uint32_t filter = call.index("filter");
  TORCHLET_CHECK(emit.size(filter, 0).number().value_or(1) == 1,
                 "the first size of the filter has to be 1");
  const Arg channels = emit.size(filter, 3);
  TORCHLET_CHECK(!channels.number() || *channels.number() % multiplier == 0,
                 "%lld channels are no multiple of %lld",
                 static_cast<long long>(*channels.number()), static_cast<long long>(multiplier));
  const Arg groups = channels.number() ? Arg(*channels.number() / multiplier)
                                       : emit.call("aten::floordiv.int", {channels, multiplier});
  convolution(emit, call, sliding_of(emit, call), {3, 0, 1, 2}, groups);
}

}  // namespace

#define SLIDING_EXPLICITLY                                                                  \
  "T in FLOAT QUANT8: (T input, FILTER(T) filter, BIAS(T) bias, INT32 padding_left, INT32 " \
  "padding_right, INT32 padding_top, INT32 padding_bottom, INT32 stride_width, INT32 "      \
  "stride_height, "
#define SLIDING_BY_SCHEME                                                                     \
  "T in FLOAT QUANT8: (T input, FILTER(T) filter, BIAS(T) bias, INT32 padding_scheme, INT32 " \
  "stride_width, INT32 stride_height, "
// Both dilations or none.
#define CONVOLUTIONS(sliding)                        \
  sliding "INT32 activation, BOOL nchw = 0) -> (T)", \
      sliding "INT32 activation, BOOL nchw, INT32 dilation_width, INT32 dilation_height) -> (T)"

NNAPI_OPERATION(CONV_2D, conv_2d, CONVOLUTIONS(SLIDING_EXPLICITLY),
                CONVOLUTIONS(SLIDING_BY_SCHEME));
NNAPI_OPERATION(DEPTHWISE_CONV_2D, depthwise_conv_2d,
                CONVOLUTIONS(SLIDING_EXPLICITLY "INT32 depth_multiplier, "),
                CONVOLUTIONS(SLIDING_BY_SCHEME "INT32 depth_multiplier, "));
NNAPI_OPERATION(GROUPED_CONV_2D, grouped_conv_2d,
                SLIDING_EXPLICITLY "INT32 num_groups, INT32 activation, BOOL nchw = 0) -> (T)",
                SLIDING_BY_SCHEME "INT32 num_groups, INT32 activation, BOOL nchw = 0) -> (T)");

}  // namespace torchlet::nn
