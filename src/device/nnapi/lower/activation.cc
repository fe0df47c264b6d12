// Functions of one tensor that follow layers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "device/nnapi/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::nnapi {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// float32, or integers whose quantization the result keeps.
void require_same_numbers(ModelBuilder& model, const Call& call) {
  const TensorDescription x = model.describe(call, 0), y = model.result(call);
  if (!x.quantizer) require_float(x);
  const bool is_kept = !x.quantizer == !y.quantizer && x.dtype == y.dtype &&
                       (!x.quantizer || (x.quantizer->scale == y.quantizer->scale &&
                                         x.quantizer->zero_point == y.quantizer->zero_point));
  if (!is_kept) decline("a result with another quantization");
}

// A constant that is compared with elements of `like`.
OperandId bound(ModelBuilder& model, const TensorDescription& like, double value) {
  if (!like.quantizer) return model.constant(static_cast<float>(value));
  Operand operand = model.type(like, Layout::kPlain);
  operand.sizes = {1};
  const double low = like.dtype == DType::kQInt8 ? -128 : 0;
  const double steps = std::nearbyint(value / like.quantizer->scale) +
                       static_cast<double>(like.quantizer->zero_point);
  operand.bytes = {static_cast<std::byte>(static_cast<int>(std::clamp(steps, low, low + 255)))};
  return model.constant(std::move(operand));
}

int32_t fused_code(double low, double high) {
  if (low == 0 && high == kInfinity) return ANEURALNETWORKS_FUSED_RELU;
  if (low == 0 && high == 6) return ANEURALNETWORKS_FUSED_RELU6;
  if (low == -1 && high == 1) return ANEURALNETWORKS_FUSED_RELU1;
  return ANEURALNETWORKS_FUSED_NONE;
}

int32_t operation_of(int32_t fused) {
  if (fused == ANEURALNETWORKS_FUSED_RELU) return ANEURALNETWORKS_RELU;
  return fused == ANEURALNETWORKS_FUSED_RELU6 ? ANEURALNETWORKS_RELU6 : ANEURALNETWORKS_RELU1;
}

void clamp(ModelBuilder& model, const Call& call, double low, double high) {
  require_same_numbers(model, call);
  const TensorDescription description = model.describe(call, 0);
  const int32_t fused = fused_code(low, high);
  if (fused != ANEURALNETWORKS_FUSED_NONE) {
    if (model.fuse(call, 0, fused)) return;
    const Held x = model.held(call, 0);
    return model.add_result(call, operation_of(fused), {x.id}, x.layout);
  }
  const Held x = model.held(call, 0);
  OperandId at = x.id;
  if (low != -kInfinity) {
    const OperandId least = bound(model, description, low);
    at = model.add(ANEURALNETWORKS_MAXIMUM, {at, least}, model.type(description, x.layout));
  }
  if (high != kInfinity) {
    const OperandId most = bound(model, description, high);
    at = model.add(ANEURALNETWORKS_MINIMUM, {at, most}, model.type(description, x.layout));
  }
  model.define(call, {at, x.layout});
}

void lower_relu(ModelBuilder& model, const Call& call) { clamp(model, call, 0, kInfinity); }
void lower_relu6(ModelBuilder& model, const Call& call) { clamp(model, call, 0, 6); }
void lower_hardtanh(ModelBuilder& model, const Call& call) {
  clamp(model, call, call.known_double("min_val"), call.known_double("max_val"));
}
void lower_clamp(ModelBuilder& model, const Call& call) {
  const double low = call.is_none("min") ? -kInfinity : call.known_double("min");
  const double high = call.is_none("max") ? kInfinity : call.known_double("max");
  if (std::isnan(low) || std::isnan(high)) decline("a bound that is no number");
  clamp(model, call, low, high);
}
void lower_clamp_min(ModelBuilder& model, const Call& call) {
  clamp(model, call, call.known_double("min"), kInfinity);
}
void lower_clamp_max(ModelBuilder& model, const Call& call) {
  clamp(model, call, -kInfinity, call.known_double("max"));
}

// With the scale and zero point that NNAPI gives to its results, if they are quantized.
template <int32_t kCode>
void lower_bounded(ModelBuilder& model, const Call& call) {
  const TensorDescription x = model.describe(call, 0), y = model.result(call);
  if (x.quantizer) {
    const bool is_tanh = kCode == ANEURALNETWORKS_TANH;
    if (is_tanh) model.require_level(ANEURALNETWORKS_FEATURE_LEVEL_3, "a quantized tanh");
    if (y.quantizer->scale != (is_tanh ? 1.0 / 128 : 1.0 / 256) ||
        y.quantizer->zero_point != (is_tanh ? 128 : 0)) {
      decline("a result with another quantization than NNAPI's");
    }
  } else {
    require_float(x);
  }
  const Held held = model.held(call, 0);
  model.add_result(call, kCode, {held.id}, held.layout);
}

// Operations of float32 tensors of one shape, one after the other. A quantized argument is
// dequantized before, and the result quantized behind.
class Chain {
 public:
  Chain(ModelBuilder& model, const Call& call)
      : model_(model), call_(call), description_(model.describe(call, 0)), x_(model.held(call, 0)) {
    if (description_.quantizer) {
      description_.quantizer = nullptr;
      description_.dtype = DType::kFloat32;
      x_.id = unary(ANEURALNETWORKS_DEQUANTIZE, x_.id);
    }
    require_float(description_);
  }
  OperandId x() const { return x_.id; }
  OperandId unary(int32_t code, OperandId a) { return model_.add(code, {a}, type()); }
  OperandId binary(int32_t code, OperandId a, OperandId b,
                   int32_t activation = ANEURALNETWORKS_FUSED_NONE) {
    const OperandId fused = model_.scalar(activation);
    return model_.add(code, {a, b, fused}, type());
  }
  // relu6(x + 3) / 6
  OperandId hard_sigmoid() {
    const OperandId shifted =
        binary(ANEURALNETWORKS_ADD, x_.id, model_.constant(3.0f), ANEURALNETWORKS_FUSED_RELU6);
    return binary(ANEURALNETWORKS_MUL, shifted, model_.constant(1.0f / 6));
  }
  void define(OperandId made) {
    if (!model_.result(call_).quantizer) return model_.define(call_, {made, x_.layout});
    model_.add_result(call_, ANEURALNETWORKS_QUANTIZE, {made}, x_.layout);
  }

 private:
  Operand type() const { return model_.type(description_, x_.layout); }

  ModelBuilder& model_;
  const Call& call_;
  TensorDescription description_;
  Held x_;
};

void lower_hardsigmoid(ModelBuilder& model, const Call& call) {
  Chain chain(model, call);
  chain.define(chain.hard_sigmoid());
}

void lower_hardswish(ModelBuilder& model, const Call& call) {
  if (model.level() >= ANEURALNETWORKS_FEATURE_LEVEL_4) {
    if (!model.describe(call, 0).quantizer) require_float(model.describe(call, 0));
    const Held x = model.held(call, 0);
    return model.add_result(call, ANEURALNETWORKS_HARD_SWISH, {x.id}, x.layout);
  }
  Chain chain(model, call);
  const OperandId factor = chain.hard_sigmoid();
  chain.define(chain.binary(ANEURALNETWORKS_MUL, chain.x(), factor));
}

void lower_silu(ModelBuilder& model, const Call& call) {
  Chain chain(model, call);
  const OperandId factor = chain.unary(ANEURALNETWORKS_LOGISTIC, chain.x());
  chain.define(chain.binary(ANEURALNETWORKS_MUL, chain.x(), factor));
}

void lower_elu(ModelBuilder& model, const Call& call) {
  if (call.known_double("scale") != 1 || call.known_double("input_scale") != 1) {
    decline("an elu with scales");
  }
  require_float(model.describe(call, 0));
  const Held x = model.held(call, 0);
  const OperandId alpha = model.scalar(static_cast<float>(call.known_double("alpha")));
  model.add_result(call, ANEURALNETWORKS_ELU, {x.id, alpha}, x.layout);
}

void lower_leaky_relu(ModelBuilder& model, const Call& call) {
  require_float(model.describe(call, 0));
  const Held x = model.held(call, 0);
  const OperandId slope = model.constant(static_cast<float>(call.known_double("negative_slope")));
  model.add_result(call, ANEURALNETWORKS_PRELU, {x.id, slope}, x.layout);
}

// One slope, or one for each channel.
void lower_prelu(ModelBuilder& model, const Call& call) {
  const TensorDescription description = model.describe(call, 0);
  require_float(description);
  const Tensor weight = call.known_tensor("weight");
  const Held x = model.held(call, 0);
  IntArray sizes(description.sizes.size(), 1);
  if (weight.numel() > 1) {
    if (sizes.size() < 2 || description.sizes[1] != weight.numel()) decline("an unusual weight");
    sizes[x.layout == Layout::kNhwc ? 3 : 1] = weight.numel();
  }
  if (sizes.empty()) sizes.push_back(1);
  const OperandId slopes = model.constant(ops::reshape(weight, sizes));
  model.add_result(call, ANEURALNETWORKS_PRELU, {x.id, slopes}, x.layout);
}

template <int32_t kCode>
void lower_softmax(ModelBuilder& model, const Call& call) {
  const TensorDescription description = model.describe(call, 0);
  require_float(description);
  require_float(model.result(call));
  const auto rank = static_cast<int64_t>(description.sizes.size());
  const int64_t dim = wrap_dim(call.known_int("dim"), rank);
  Held x = model.held(call, 0);
  const int32_t axis = rank == 0 ? 0 : axis_in(x.layout, dim);
  const int32_t last = rank == 0 ? 0 : static_cast<int32_t>(rank - 1);
  const OperandId beta = model.scalar(1.0f);
  std::vector<OperandId> inputs = {x.id, beta};
  const bool is_softmax = kCode == ANEURALNETWORKS_SOFTMAX;
  if (axis != last || (rank != 2 && rank != 4)) {
    model.require_level(ANEURALNETWORKS_FEATURE_LEVEL_3, "a softmax along this dimension");
  }
  if (!is_softmax || model.level() >= ANEURALNETWORKS_FEATURE_LEVEL_3) {
    inputs.push_back(model.scalar(axis));
  }
  model.add_result(call, kCode, std::move(inputs), x.layout);
}

}  // namespace

std::span<const Lowering> activation_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::relu", lower_relu},
      {"aten::relu6", lower_relu6},
      {"aten::hardtanh", lower_hardtanh},
      {"aten::clamp", lower_clamp},
      {"aten::clamp_min", lower_clamp_min},
      {"aten::clamp_max", lower_clamp_max},
      {"aten::sigmoid", lower_bounded<ANEURALNETWORKS_LOGISTIC>},
      {"aten::tanh", lower_bounded<ANEURALNETWORKS_TANH>},
      {"aten::hardsigmoid", lower_hardsigmoid},
      {"aten::hardswish", lower_hardswish},
      {"quantized::hardswish", lower_hardswish},
      {"aten::silu", lower_silu},
      {"aten::elu", lower_elu},
      {"aten::leaky_relu", lower_leaky_relu},
      {"aten::prelu", lower_prelu},
      {"aten::softmax", lower_softmax<ANEURALNETWORKS_SOFTMAX>},
      {"aten::_softmax", lower_softmax<ANEURALNETWORKS_SOFTMAX>},
      {"aten::log_softmax", lower_softmax<ANEURALNETWORKS_LOG_SOFTMAX>},
      {"aten::_log_softmax", lower_softmax<ANEURALNETWORKS_LOG_SOFTMAX>},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
