#include "device/cpu/lower/epilogue_step.h"

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

const float* keep_bias(PlanBuilder& plan, const Tensor& bias, const Tensor& weight,
                       int64_t channels) {
  if (!bias.defined()) return nullptr;
  if (bias.dtype() != weight.dtype() || bias.numel() != channels) decline("an unusual bias");
  return plan.floats(bias);
}

}  // namespace torchlet::cpu
