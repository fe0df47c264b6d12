// Windows that slide over images and give one number for each channel.
#include <limits>

#include "base/error.h"
#include "neuralnetworks/operations/window.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {
namespace {

struct Pooling {
  Arg window, stride;  // height, width
  Padding padding;

  // PyTorch's poolings pad by as much on both sides, and by half of a window at most.
  bool fits_pytorch() const {
    return padding.is_symmetric() && fits(padding.top, 0) && fits(padding.left, 1);
  }
  Arg symmetric_padding() const { return {padding.top, padding.left}; }

 private:
  bool fits(const Arg& before, size_t axis) const {
    return *before.number() <= *window.items()[axis].number() / 2;
  }
};

// So that no window lies on padding alone.
void check(const Arg& padding, const Arg& window) {
  if (!padding.number() || *padding.number() < *window.number()) return;
  fail(ErrorCode::kInvalidArgument, "a padding of %lld leaves nothing for windows of %lld",
       static_cast<long long>(*padding.number()), static_cast<long long>(*window.number()));
}

Pooling pooling_of(Emitter& emit, const Call& call) {
  const Arg window = window_of(call);
  const Arg &height = window.items()[0], &width = window.items()[1];
  const Padding padding = padding_of(emit, call, height, width);
  for (const Arg& side : {padding.top, padding.bottom}) check(side, height);
  for (const Arg& side : {padding.left, padding.right}) check(side, width);
  return {window, strides_of(call), padding};
}

// What is in the windows alone, not the padding, is averaged.
SsaValue* averages(Emitter& emit, SsaValue* image, const Pooling& pooling) {
  if (pooling.fits_pytorch()) {
    return emit.call("aten::avg_pool2d", {image, pooling.window, pooling.stride,
                                          pooling.symmetric_padding(), false, false});
  }
  const Padding& padding = pooling.padding;
  return emit.call("nnapi::average_pool2d",
                   {image,
                    pooling.window,
                    pooling.stride,
                    {padding.left, padding.right, padding.top, padding.bottom}});
}

void average_pool_2d(Emitter& emit, const Call& call) {
  const Pooling pooling = pooling_of(emit, call);
  const int64_t activation = call.integer("activation");
  const Operand& input = call.operand("input");
  const Operand& output = call.output();
  if (!is_quantized(input.type)) {
    SsaValue* result = averages(emit, emit.real_image(call, "input"), pooling);
    return emit.give_real_image(call, emit.activate(result, activation));
  }
  SsaValue* result;
  if (pooling.fits_pytorch()) {
    result = emit.requantized(averages(emit, emit.image(call, "input"), pooling), input, output);
  } else {
    result = emit.from_real(averages(emit, emit.real_image(call, "input"), pooling), output);
  }
  emit.give_image(call, emit.activate(result, needed_activation(activation, output)));
}

void l2_pool_2d(Emitter& emit, const Call& call) {
  const Pooling pooling = pooling_of(emit, call);
  SsaValue* squares = emit.call("aten::square", {emit.real_image(call, "input")});
  SsaValue* result = emit.call("aten::sqrt", {averages(emit, squares, pooling)});
  emit.give_real_image(call, emit.activate(result, call.integer("activation")));
}

void max_pool_2d(Emitter& emit, const Call& call) {
  const Pooling pooling = pooling_of(emit, call);
  const Operand& input = call.operand("input");
  const bool is_quantized = nn::is_quantized(input.type);
  SsaValue* image = is_quantized ? emit.image(call, "input") : emit.real_image(call, "input");
  Arg padding = {0, 0};
  if (pooling.fits_pytorch()) {
    padding = pooling.symmetric_padding();
  } else {
    // With the least number that there is.
    const double least = is_quantized
                             ? -static_cast<double>(held_zero_point(input)) * double{input.scale}
                             : -std::numeric_limits<double>::infinity();
    image = padded(emit, image, pooling.padding, least);
  }
  SsaValue* result =
      emit.call("aten::max_pool2d", {image, pooling.window, pooling.stride, padding});
  const int64_t activation = call.integer("activation");
  if (!is_quantized) return emit.give_real_image(call, emit.activate(result, activation));
  result = emit.requantized(result, input, call.output());
  emit.give_image(call, emit.activate(result, needed_activation(activation, call.output())));
}

}  // namespace

#define POOLING_EXPLICITLY(types)                                                       \
  "T in " types                                                                         \
  ": (T input, INT32 padding_left, INT32 padding_right, INT32 padding_top, INT32 "      \
  "padding_bottom, INT32 stride_width, INT32 stride_height, INT32 filter_width, INT32 " \
  "filter_height, INT32 activation, BOOL nchw = 0) -> (T)"
#define POOLING_BY_SCHEME(types)                                                \
  "T in " types                                                                 \
  ": (T input, INT32 padding_scheme, INT32 stride_width, INT32 stride_height, " \
  "INT32 filter_width, INT32 filter_height, INT32 activation, BOOL nchw = 0) -> (T)"

NNAPI_OPERATION(AVERAGE_POOL_2D, average_pool_2d, POOLING_EXPLICITLY("FLOAT QUANT8"),
                POOLING_BY_SCHEME("FLOAT QUANT8"));
NNAPI_OPERATION(L2_POOL_2D, l2_pool_2d, POOLING_EXPLICITLY("FLOAT"), POOLING_BY_SCHEME("FLOAT"));
NNAPI_OPERATION(MAX_POOL_2D, max_pool_2d, POOLING_EXPLICITLY("FLOAT QUANT8"),
                POOLING_BY_SCHEME("FLOAT QUANT8"));

}  // namespace torchlet::nn
