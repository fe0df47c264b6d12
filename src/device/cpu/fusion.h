// The end of a kernel that plans let grow: bias, residual, activation.
#pragma once

#include <optional>

#include "device/cpu/builder.h"
#include "kernels/nhwc.h"

namespace torchlet::cpu {

// A step whose kernel takes an EpilogueF32.
class EpilogueStep : public Step {
 public:
  // `bias` as keep_bias() gives it.
  explicit EpilogueStep(const float* bias) : bias_(bias) {}
  bool fuse(const kernels::Activation& activation) override;
  bool fuse_residual(Operand other) override;

  kernels::EpilogueF32 epilogue(const Memory& memory) const;
  bool has_residual() const { return residual_.id != kNoTensor; }

 private:
  const float* bias_;
  kernels::Activation activation_;
  Operand residual_;
  bool residual_last_ = false;
};

// The bias in memory that the plan keeps; null for None.
const float* keep_bias(PlanBuilder& plan, const Tensor& bias, int64_t channels);

// The activation that an operator of one tensor computes, nothing if it is none of them.
std::optional<kernels::Activation> activation_of(const PlanBuilder& plan, const Node& node);

}  // namespace torchlet::cpu
