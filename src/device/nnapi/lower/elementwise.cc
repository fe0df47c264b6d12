// Arithmetic of one or two tensors.
#include "device/nnapi/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::nnapi {
namespace {

bool is_number(const CallArgument& argument) {
  if (!argument.is_known()) return false;
  return !argument.known().is_tensor() || argument.known().to_tensor().dim() == 0;
}

// A number, or a tensor of as many dimensions as the result has, or fewer.
OperandId side(ModelBuilder& model, const Call& call, Arg arg, Layout layout) {
  const CallArgument& argument = call.argument(arg);
  if (is_number(argument)) return model.constant(static_cast<float>(call.known_double(arg)));
  const TensorDescription d = model.describe(argument);
  require_float(d);
  if (layout == Layout::kPlain || d.sizes.size() == 4) return model.operand(argument, layout);
  // Fewer dimensions than the image: known, so it can lie as the image does.
  Tensor known = argument.known().to_tensor();
  while (known.dim() < 4) known = ops::unsqueeze(known, 0);
  Operand constant = model.type(device::describe(known), Layout::kNhwc);
  constant.tensor = ops::permute(known, IntArray{0, 2, 3, 1}).contiguous();
  return model.constant(std::move(constant));
}

// Only dimensions that both have can be in another order, but for what is known.
bool can_be_image(ModelBuilder& model, const CallArgument& argument) {
  return argument.is_known() || model.describe(argument).sizes.size() == 4;
}

}  // namespace

Pair pair_of(ModelBuilder& model, const Call& call, Arg a, Arg b) {
  const TensorDescription result = model.result(call);
  const CallArgument &left = call.argument(a), &right = call.argument(b);
  Layout layout = Layout::kPlain;
  if (result.sizes.size() == 4 && can_be_image(model, left) && can_be_image(model, right)) {
    for (const CallArgument* argument : {&left, &right}) {
      if (argument->is_tensor() && model.layout_at_hand(*argument) == Layout::kNhwc) {
        layout = Layout::kNhwc;
      }
    }
  }
  return {side(model, call, a, layout), side(model, call, b, layout), layout};
}

namespace {

void add_fusable(ModelBuilder& model, const Call& call, int32_t code, const Pair& pair) {
  require_float(model.result(call));
  const OperandId none = model.scalar(int32_t{ANEURALNETWORKS_FUSED_NONE});
  model.add_result(call, code, {pair.a, pair.b, none}, pair.layout, 2);
}

// `id` times a number.
OperandId scaled(ModelBuilder& model, OperandId id, double factor) {
  if (factor == 1) return id;
  const OperandId number = model.constant(static_cast<float>(factor));
  const OperandId none = model.scalar(int32_t{ANEURALNETWORKS_FUSED_NONE});
  Operand output = model.info(id);
  output.bytes.clear();
  output.tensor = Tensor();
  return model.add(ANEURALNETWORKS_MUL, {id, number, none}, std::move(output));
}

template <int32_t kCode>
void lower_sum(ModelBuilder& model, const Call& call) {
  Pair pair = pair_of(model, call, 0, 1);
  if (call.has_argument("alpha")) pair.b = scaled(model, pair.b, call.known_double("alpha"));
  add_fusable(model, call, kCode, pair);
}

void lower_rsub(ModelBuilder& model, const Call& call) {
  const Pair pair = pair_of(model, call, 0, 1);
  const OperandId subtracted = scaled(model, pair.a, call.known_double("alpha"));
  add_fusable(model, call, ANEURALNETWORKS_SUB, {pair.b, subtracted, pair.layout});
}

void lower_mul(ModelBuilder& model, const Call& call) {
  add_fusable(model, call, ANEURALNETWORKS_MUL, pair_of(model, call, 0, 1));
}

void lower_div(ModelBuilder& model, const Call& call) {
  if (call.has_argument("rounding_mode") && !call.is_none("rounding_mode")) {
    decline("a division that rounds");
  }
  add_fusable(model, call, ANEURALNETWORKS_DIV, pair_of(model, call, 0, 1));
}

template <int32_t kCode>
void lower_binary(ModelBuilder& model, const Call& call) {
  require_float(model.result(call));
  const Pair pair = pair_of(model, call, 0, 1);
  model.add_result(call, kCode, {pair.a, pair.b}, pair.layout);
}

void lower_pow(ModelBuilder& model, const Call& call) {
  if (is_number(call.argument(1)) && call.known_double(1) == 2) {
    const Held x = model.held(call, 0);
    return add_fusable(model, call, ANEURALNETWORKS_MUL, {x.id, x.id, x.layout});
  }
  lower_binary<ANEURALNETWORKS_POW>(model, call);
}

void lower_square(ModelBuilder& model, const Call& call) {
  const Held x = model.held(call, 0);
  add_fusable(model, call, ANEURALNETWORKS_MUL, {x.id, x.id, x.layout});
}

void lower_reciprocal(ModelBuilder& model, const Call& call) {
  const Held x = model.held(call, 0);
  const OperandId one = model.constant(1.0f);
  add_fusable(model, call, ANEURALNETWORKS_DIV, {one, x.id, x.layout});
}

template <int32_t kCode>
void lower_unary(ModelBuilder& model, const Call& call) {
  require_float(model.describe(call, 0));
  require_float(model.result(call));
  const Held x = model.held(call, 0);
  model.add_result(call, kCode, {x.id}, x.layout);
}

}  // namespace

std::span<const Lowering> elementwise_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::add", lower_sum<ANEURALNETWORKS_ADD>},
      {"aten::sub", lower_sum<ANEURALNETWORKS_SUB>},
      {"aten::rsub", lower_rsub},
      {"aten::mul", lower_mul},
      {"aten::div", lower_div},
      {"aten::maximum", lower_binary<ANEURALNETWORKS_MAXIMUM>},
      {"aten::minimum", lower_binary<ANEURALNETWORKS_MINIMUM>},
      {"aten::pow", lower_pow},
      {"aten::square", lower_square},
      {"aten::reciprocal", lower_reciprocal},
      {"aten::abs", lower_unary<ANEURALNETWORKS_ABS>},
      {"aten::exp", lower_unary<ANEURALNETWORKS_EXP>},
      {"aten::floor", lower_unary<ANEURALNETWORKS_FLOOR>},
      {"aten::log", lower_unary<ANEURALNETWORKS_LOG>},
      {"aten::neg", lower_unary<ANEURALNETWORKS_NEG>},
      {"aten::rsqrt", lower_unary<ANEURALNETWORKS_RSQRT>},
      {"aten::sin", lower_unary<ANEURALNETWORKS_SIN>},
      {"aten::sqrt", lower_unary<ANEURALNETWORKS_SQRT>},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
