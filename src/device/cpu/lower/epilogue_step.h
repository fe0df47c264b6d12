// The end of a kernel that plans let grow: bias, residual, activation.
#pragma once

#include <optional>

#include "device/cpu/builder.h"
#include "kernels/nhwc.h"

namespace torchlet::cpu {

// A step whose kernel applies a function to each result before it stores it.
class ActivatedStep : public Step {
 public:
  bool fuse(const kernels::Activation& activation) override {
    if (activation_.kind != kernels::ActivationKind::kNone) return false;
    activation_ = activation;
    return true;
  }

 protected:
  kernels::Activation activation_;
};

// A step whose kernel takes an Epilogue.
class EpilogueStep : public Step {
 public:
  // `bias` as keep_bias() gives it.
  explicit EpilogueStep(const float* bias) : bias_(bias) {}
  bool fuse(const kernels::Activation& activation) override;
  bool fuse_residual(Operand other) override;

  // T: the element type of the step's images.
  template <typename T>
  kernels::Epilogue<T> epilogue(const Memory& memory) const {
    kernels::Epilogue<T> epilogue;
    epilogue.bias = bias_;
    epilogue.activation = activation_;
    if (residual_.id() != kNoTensor) {
      epilogue.residual = memory.data<T>(residual_);
      epilogue.residual_stride = memory.stride(residual_);
      epilogue.residual_last = residual_last_;
    }
    return epilogue;
  }
  bool has_residual() const { return residual_.id() != kNoTensor; }
  const kernels::Activation& activation() const { return activation_; }

 private:
  const float* bias_;
  kernels::Activation activation_;
  Operand residual_;
  bool residual_last_ = false;
};

// The bias in memory that the plan keeps; null for None. Declines one that is not of the weight's
// dtype, which the caller has looked at.
const float* keep_bias(PlanBuilder& plan, const Tensor& bias, const Tensor& weight,
                       int64_t channels);

}  // namespace torchlet::cpu
