// Operations that put tensors together, with others, with copies of themselves or with a border.
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "neuralnetworks/operations/moving.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {
namespace {

// ---- tensors ----

bool all_have_quantization_of(const Call& call, std::string_view inputs, const Operand& output) {
  for (const uint32_t index : call.indices(inputs)) {
    const Operand& input = call.model().operands[index];
    if (input.scale != output.scale || input.zero_point != output.zero_point) return false;
  }
  return true;
}

// For which there is a kernel.
bool joins_quantized_channels(const Call& call, int64_t axis) {
  return axis == 3 && is_quantized(call.output().type) &&
         std::ranges::all_of(call.indices("inputs"), [&](uint32_t index) {
           return call.model().operands[index].dims.size() == 4;
         });
}

void concatenation(Emitter& emit, const Call& call) {
  const std::span<const uint32_t> inputs = call.indices("inputs");
  if (inputs.empty()) fail(ErrorCode::kInvalidArgument, "there is nothing to concatenate");
  int64_t axis = call.integer("axis");
  if (axis < 0) {
    fail(ErrorCode::kInvalidArgument, "the axis is %lld", static_cast<long long>(axis));
  }
  const bool as_images = emit.as_images(inputs) || joins_quantized_channels(call, axis);
  if (as_images) axis = nchw_axis(axis);
  std::vector<Arg> tensors;
  for (const uint32_t index : inputs) {
    if (call.model().operands[index].dims.size() > 4) {
      fail(ErrorCode::kInvalidArgument, "input %zu has more than 4 dimensions", tensors.size());
    }
    tensors.emplace_back(as_images ? emit.image(index) : emit.value(index));
  }
  const Operand& output = call.output();
  SsaValue* joined = !is_quantized(output.type) || all_have_quantization_of(call, "inputs", output)
                         ? emit.call("aten::cat", {tensors, axis})
                         : emit.call("quantized::cat", {tensors, axis, double{output.scale},
                                                        held_zero_point(output)});
  as_images ? emit.give_image(call.output_index(), joined) : emit.give(call, joined);
}

void pack(Emitter& emit, const Call& call) {
  const std::span<const uint32_t> inputs = call.indices("inputs");
  const int64_t axis = call.integer("axis");
  if (inputs.empty()) fail(ErrorCode::kInvalidArgument, "there is nothing to pack");
  if (axis < 0) {
    fail(ErrorCode::kInvalidArgument, "the axis is %lld", static_cast<long long>(axis));
  }
  std::vector<Arg> tensors;
  for (const uint32_t index : inputs) {
    require_same_quantization(call, call.model().operands[index]);
    tensors.emplace_back(emit.value(index));
  }
  emit.give(call, emit.call("aten::stack", {tensors, axis}));
}

// ---- borders ----

// What surrounds the elements: a real number, and what it is held as.
struct Border {
  double value;
  Arg held;
};

// Of pictures NHWC without a border around the batch and the channels, as PyTorch takes it, if that
// is known: convolutions make it part of their own padding.
std::optional<std::vector<Arg>> known_surround(const Call& call) {
  const auto paddings = known_numbers(call, "paddings");
  if (call.operand("input").dims.size() != 4 || !paddings || paddings->size() != 8) return {};
  const IntArray& p = *paddings;
  if (std::ranges::any_of(p, [](int64_t count) { return count < 0; }) || p[0] || p[1] || p[6] ||
      p[7]) {
    return {};
  }
  return std::vector<Arg>{p[4], p[5], p[2], p[3]};
}

void pad_with(Emitter& emit, const Call& call, const Border& border) {
  require_rank(call, "input", 1, 4);
  require_same_quantization(call, call.operand("input"));
  const uint32_t index = call.index("input");
  const Operand& input = call.operand("input");
  if (const auto surround = known_surround(call)) {
    return emit.give_image(
        call.output_index(),
        emit.call("aten::constant_pad_nd", {emit.image(index), *surround, border.value}));
  }
  SsaValue* amounts = emit.call("nnapi::border", {emit.value(call, "paddings"), emit.rank(index)});
  give_plain(emit, call, "input",
             emit.call("aten::constant_pad_nd",
                       {plain(emit, call, "input"), amounts,
                        is_quantized(input.type) ? border.held : Arg(border.value)}));
}

void pad(Emitter& emit, const Call& call) {
  pad_with(emit, call, {0, held_zero_point(call.operand("input"))});
}

void pad_v2(Emitter& emit, const Call& call) {
  const Operand& input = call.operand("input");
  if (!is_quantized(input.type)) return pad_with(emit, call, {call.real("value"), nullptr});
  const int64_t value = call.integer("value") - input.zero_point;
  const int64_t held = value + held_zero_point(input);
  if (held < 0 || held > 255) {
    fail(ErrorCode::kInvalidArgument, "the border's value %lld is none of the tensor's type",
         static_cast<long long>(call.integer("value")));
  }
  pad_with(emit, call, {static_cast<double>(value) * double{input.scale}, held});
}

void mirror_pad(Emitter& emit, const Call& call) {
  const int64_t mode = call.integer("mode");
  if (mode != 0 && mode != 1) {
    fail(ErrorCode::kInvalidArgument, "there is no mode of number %lld",
         static_cast<long long>(mode));
  }
  give_plain(emit, call, "input",
             emit.call("nnapi::mirror_pad",
                       {plain(emit, call, "input"), emit.value(call, "paddings"), mode == 1}));
}

// ---- copies ----

void tile(Emitter& emit, const Call& call) {
  SsaValue* multiples = emit.call("nnapi::multiples",
                                  {list(emit, call, "multiples"), emit.rank(call.index("input"))});
  give_plain(emit, call, "input",
             emit.call("aten::repeat", {plain(emit, call, "input"), multiples}));
}

void reverse(Emitter& emit, const Call& call) {
  SsaValue* dim =
      emit.call("nnapi::reversed_dim", {list(emit, call, "axis"), emit.rank(call.index("input"))});
  give_plain(emit, call, "input", emit.call("aten::flip", {plain(emit, call, "input"), {dim}}));
}

}  // namespace

NNAPI_OPERATION(CONCATENATION, concatenation,
                "T in FLOAT QUANT8: (T... inputs, INT32 axis) -> (T)");
NNAPI_OPERATION(PACK, pack, "T in FLOAT QUANT8 TENSOR_INT32: (INT32 axis, T... inputs) -> (T)");
NNAPI_OPERATION(PAD, pad, "T in FLOAT QUANT8: (T input, TENSOR_INT32 paddings) -> (T)");
NNAPI_OPERATION(PAD_V2, pad_v2,
                "T in FLOAT QUANT8: (T input, TENSOR_INT32 paddings, SCALAR(T) value) -> (T)");
NNAPI_OPERATION(MIRROR_PAD, mirror_pad,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, TENSOR_INT32 paddings, INT32 mode) -> "
                "(T)");
NNAPI_OPERATION(TILE, tile,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, TENSOR_INT32 multiples) -> (T)");
NNAPI_OPERATION(REVERSE, reverse,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, TENSOR_INT32 axis) -> (T)");

}  // namespace torchlet::nn
