#include "device/cpu/fusion.h"

#include <limits>

namespace torchlet::cpu {

using kernels::Activation;
using kernels::ActivationKind;

bool EpilogueStep::fuse(const Activation& activation) {
  // A residual that was added after an activation leaves no place for a second one.
  if (activation_.kind != ActivationKind::kNone || residual_last_) return false;
  activation_ = activation;
  return true;
}

bool EpilogueStep::fuse_residual(Operand other) {
  if (residual_.id() != kNoTensor) return false;
  residual_ = reading(other);
  residual_last_ = activation_.kind != ActivationKind::kNone;
  return true;
}

const float* keep_bias(PlanBuilder& plan, const Tensor& bias, int64_t channels) {
  if (!bias.defined()) return nullptr;
  if (bias.dtype() != DType::kFloat32 || bias.numel() != channels) decline("an unusual bias");
  return plan.floats(bias);
}

std::optional<Activation> activation_of(const PlanBuilder& plan, const Node& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::string_view name = node.kind().name();
  const auto clamp = [](double low, double high) {
    return Activation{ActivationKind::kClamp, static_cast<float>(low), static_cast<float>(high)};
  };
  const auto bound = [&](size_t input, float none) {
    if (plan.is_none(node, input)) return static_cast<double>(none);
    // Which has a say in the shape and the dtype of the result.
    if (plan.known(node, input).is_tensor()) decline("a tensor as a bound");
    return plan.known_double(node, input);
  };
  if (name == "relu") return clamp(0, kInfinity);
  if (name == "relu6") return clamp(0, 6);
  if (name == "hardtanh") return clamp(plan.known_double(node, 1), plan.known_double(node, 2));
  if (name == "clamp") return clamp(bound(1, -kInfinity), bound(2, kInfinity));
  if (name == "clamp_min") return clamp(bound(1, -kInfinity), kInfinity);
  if (name == "clamp_max") return clamp(-kInfinity, bound(1, kInfinity));
  if (name == "leaky_relu") {
    return Activation{ActivationKind::kLeakyRelu, static_cast<float>(plan.known_double(node, 1)),
                      0};
  }
  if (name == "hardswish") return Activation{ActivationKind::kHardswish};
  if (name == "hardsigmoid") return Activation{ActivationKind::kHardsigmoid};
  if (name == "sigmoid") return Activation{ActivationKind::kSigmoid};
  if (name == "silu") return Activation{ActivationKind::kSilu};
  if (name == "tanh") return Activation{ActivationKind::kTanh};
  if (name == "gelu") {
    return Activation{plan.known(node, 1).to_string() == "tanh" ? ActivationKind::kGeluTanh
                                                                : ActivationKind::kGelu};
  }
  return std::nullopt;
}

}  // namespace torchlet::cpu
