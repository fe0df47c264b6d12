// TRANSPOSE_CONV_2D: what a convolution does to gradients. Each pixel adds the filter, times its
// value, to the output; the padding is cut off the output, or is more of it where it is negative.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "neuralnetworks/operations/window.h"
#include "neuralnetworks/operators/window_operators.h"

namespace torchlet::nn {
namespace {

// Which PyTorch's operator can do: as much is cut off both ends, and less than a stride added.
struct Cut {
  int64_t both, added, behind;
};

std::optional<Cut> cut_of(const Arg& before, const Arg& after, const Arg& stride) {
  if (!before.number() || !after.number()) return {};
  const int64_t both = *before.number(), difference = both - *after.number();
  if (difference >= *stride.number()) return {};
  return Cut{both, std::max<int64_t>(0, difference), std::max<int64_t>(0, -difference)};
}

// Of PADDING_SAME, for the size along `axis` that "output_shape" wants.
std::pair<Arg, Arg> wanted_ends(Emitter& emit, const Call& call, int64_t axis, const Arg& window,
                                const Arg& stride) {
  const Operand& shape = call.operand("output_shape");
  if (shape.lifetime == Lifetime::kConstant && window.number()) {
    TORCHLET_CHECK(shape.value.size() == 4 * sizeof(int32_t), "output_shape has %zu bytes, not 16",
                   shape.value.size());
    int32_t sizes[4];
    std::copy_n(shape.value.data(), sizeof(sizes), reinterpret_cast<std::byte*>(sizes));
    const auto [before, after] =
        nn::transposed_same_padding(sizes[axis], *window.number(), *stride.number());
    return {before, after};
  }
  const std::vector<SsaValue*> ends = emit.call_all(
      "nnapi::transposed_same_padding", {emit.value(call, "output_shape"), axis, window, stride});
  return {ends[0], ends[1]};
}

Padding transposed_padding(Emitter& emit, const Call& call, const Arg& strides) {
  if (call.has("padding_left")) {
    TORCHLET_CHECK(call.integer("padding_left") >= 0 && call.integer("padding_top") >= 0,
                   "only the padding to the right and below may be negative");
    return {call.integer("padding_left"), call.integer("padding_right"),
            call.integer("padding_top"), call.integer("padding_bottom")};
  }
  const std::vector<uint32_t>& shape = call.operand("output_shape").dims;
  TORCHLET_CHECK(shape.empty() || (shape.size() == 1 && (shape[0] == 4 || shape[0] == 0)),
                 "output_shape has to be four sizes");
  if (call.integer("padding_scheme") == ANEURALNETWORKS_PADDING_VALID) return {};
  TORCHLET_CHECK(call.integer("padding_scheme") == ANEURALNETWORKS_PADDING_SAME,
                 "there is no padding scheme of number %lld",
                 static_cast<long long>(call.integer("padding_scheme")));
  const uint32_t filter = call.index("filter");
  const int64_t rows = call.boolean("nchw") ? 2 : 1;
  const auto [top, bottom] =
      wanted_ends(emit, call, rows, emit.size(filter, 1), strides.items()[0]);
  const auto [left, right] =
      wanted_ends(emit, call, rows + 1, emit.size(filter, 2), strides.items()[1]);
  return {left, right, top, bottom};
}

SsaValue* without_last(Emitter& emit, SsaValue* image, int64_t dim, int64_t count) {
  return count ? emit.call("aten::slice.Tensor", {image, dim, 0, -count, 1}) : image;
}

// The padding cut off, which may be more than there is: what is missing is added first.
SsaValue* without(Emitter& emit, SsaValue* image, const Padding& padding) {
  std::vector<Arg> added, cut, both;
  bool are_known = true;
  for (const Arg& side : {padding.left, padding.right, padding.top, padding.bottom}) {
    const std::optional<int64_t> number = side.number();
    are_known &= number.has_value();
    added.emplace_back(std::max<int64_t>(0, -number.value_or(0)));
    cut.emplace_back(std::min<int64_t>(0, -number.value_or(0)));
    both.push_back(number ? Arg(-*number) : emit.call("aten::neg.int", {side}));
  }
  if (!are_known) return emit.call("aten::constant_pad_nd", {image, both});
  return emit.call("aten::constant_pad_nd",
                   {emit.call("aten::constant_pad_nd", {image, added}), cut});
}

void transpose_conv_2d(Emitter& emit, const Call& call) {
  const Arg strides = strides_of(call);
  const Padding padding = transposed_padding(emit, call, strides);
  SsaValue* image = emit.real_image(call, "input");
  SsaValue* filter = emit.call("aten::permute", {emit.real(call, "filter"), {3, 0, 1, 2}});
  SsaValue* bias = is_quantized(call.operand("input").type)
                       ? emit.call("nnapi::quantized_bias",
                                   {emit.value(call, "bias"), double{call.operand("input").scale},
                                    emit.value(call, "filter")})
                       : emit.real(call, "bias");
  const auto y = cut_of(padding.top, padding.bottom, strides.items()[0]);
  const auto x = cut_of(padding.left, padding.right, strides.items()[1]);
  SsaValue* result;
  if (y && x) {
    result = emit.call("aten::conv_transpose2d.input",
                       {image, filter, bias, strides, {y->both, x->both}, {y->added, x->added}});
    result = without_last(emit, result, 2, y->behind);
    result = without_last(emit, result, 3, x->behind);
  } else {
    // Nothing but the bias is where no pixel reaches.
    result = emit.call("aten::conv_transpose2d.input", {image, filter, nullptr, strides});
    result = without(emit, result, padding);
    result =
        emit.call("aten::add.Tensor", {result, emit.call("aten::reshape", {bias, {-1, 1, 1}})});
  }
  emit.give_real_image(call, emit.activate(result, call.integer("activation")));
}

}  // namespace

NNAPI_OPERATION(
    TRANSPOSE_CONV_2D, transpose_conv_2d,
    "T in FLOAT QUANT8: (T input, FILTER(T) filter, BIAS(T) bias, INT32 padding_left, INT32 "
    "padding_right, INT32 padding_top, INT32 padding_bottom, INT32 stride_width, INT32 "
    "stride_height, INT32 activation, BOOL nchw) -> (T)",
    "T in FLOAT QUANT8: (T input, FILTER(T) filter, BIAS(T) bias, TENSOR_INT32 output_shape, INT32 "
    "padding_scheme, INT32 stride_width, INT32 stride_height, INT32 activation, BOOL nchw) -> (T)");

}  // namespace torchlet::nn
