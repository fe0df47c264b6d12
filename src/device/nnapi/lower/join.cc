// Concatenations and padding.
#include <algorithm>

#include "device/nnapi/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::nnapi {
namespace {

// The items of a list of tensors.
std::vector<CallArgument> tensors_of(const Call& call, Arg arg) {
  const CallArgument& list = call.argument(arg);
  if (list.is_list()) return list.items();
  std::vector<CallArgument> items;
  for (const Value& item : list.known().to_list()) items.emplace_back(item);
  return items;
}

bool same_numbers(const TensorDescription& a, const TensorDescription& b) {
  if (a.dtype != b.dtype || !a.quantizer != !b.quantizer) return false;
  return !a.quantizer || (a.quantizer->scale == b.quantizer->scale &&
                          a.quantizer->zero_point == b.quantizer->zero_point);
}

void lower_cat(ModelBuilder& model, const Call& call) {
  const TensorDescription result = model.result(call);
  if (!result.quantizer) require_float(result);
  const auto rank = static_cast<int64_t>(result.sizes.size());
  const int64_t dim = wrap_dim(call.known_int("dim"), rank);
  const std::vector<CallArgument> parts = tensors_of(call, 0);
  Layout layout = Layout::kPlain;
  for (const CallArgument& part : parts) {
    const TensorDescription description = model.describe(part);
    if (static_cast<int64_t>(description.sizes.size()) != rank) {
      decline("tensors of several numbers of dimensions");
    }
    if (description.dtype != result.dtype) decline("tensors of several types");
    if (!same_numbers(description, result)) {
      model.require_level(ANEURALNETWORKS_FEATURE_LEVEL_3, "parts of several quantizations");
    }
    if (part.is_tensor() && model.layout_at_hand(part) == Layout::kNhwc) layout = Layout::kNhwc;
  }
  std::vector<OperandId> inputs;
  for (const CallArgument& part : parts) inputs.push_back(model.operand(part, layout));
  inputs.push_back(model.scalar(axis_in(layout, dim)));
  model.add_result(call, ANEURALNETWORKS_CONCATENATION, std::move(inputs), layout);
}

void lower_quantized_cat(ModelBuilder& model, const Call& call) {
  if (call.kind().name().ends_with("_relu")) decline("a concatenation that is clamped");
  lower_cat(model, call);
}

// Pairs of numbers, the last dimension first.
void lower_constant_pad(ModelBuilder& model, const Call& call) {
  const TensorDescription description = model.describe(call, 0);
  const double value = call.known_double("value");
  if (description.quantizer) {
    model.require_level(ANEURALNETWORKS_FEATURE_LEVEL_3, "padding of quantized tensors");
    if (value != 0) decline("padding of a quantized tensor with other numbers than zero");
  } else {
    require_float(description);
  }
  const IntArray pad = call.known_ints("pad");
  const size_t rank = description.sizes.size();
  if (pad.size() % 2 != 0 || pad.size() > 2 * rank || rank == 0) decline("an unusual padding");
  const Held x = model.held(call, 0);
  std::vector<int32_t> around(2 * rank);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const auto axis = static_cast<size_t>(axis_in(x.layout, static_cast<int64_t>(rank - 1 - i)));
    around[2 * axis] = to_int32(pad[2 * i]);
    around[2 * axis + 1] = to_int32(pad[2 * i + 1]);
  }
  if (std::ranges::any_of(around, [](int32_t count) { return count < 0; })) {
    decline("padding that cuts");
  }
  std::vector<OperandId> inputs = {x.id, model.ints(around, {static_cast<uint32_t>(rank), 2})};
  if (value == 0) return model.add_result(call, ANEURALNETWORKS_PAD, std::move(inputs), x.layout);
  inputs.push_back(model.scalar(static_cast<float>(value)));
  model.add_result(call, ANEURALNETWORKS_PAD_V2, std::move(inputs), x.layout);
}

// Five dimensions are too many for NNAPI, but what they are for has an operation.
void lower_channel_shuffle(ModelBuilder& model, const Call& call) {
  const TensorDescription description = model.describe(call, 0);
  if (!description.quantizer) require_float(description);
  if (description.sizes.size() != 4) decline("no image");
  const Held x = model.held(call, 0);
  const OperandId groups = model.scalar(to_int32(call.known_int("groups")));
  const OperandId axis = model.scalar(axis_in(x.layout, 1));
  model.add_result(call, ANEURALNETWORKS_CHANNEL_SHUFFLE, {x.id, groups, axis}, x.layout);
}

}  // namespace

std::span<const Lowering> join_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::cat", lower_cat},
      {"aten::concat", lower_cat},
      {"aten::channel_shuffle", lower_channel_shuffle},
      {"aten::constant_pad_nd", lower_constant_pad},
      {"quantized::cat", lower_quantized_cat},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
