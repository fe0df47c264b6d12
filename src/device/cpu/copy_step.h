#pragma once

#include "device/cpu/plan.h"
#include "kernels/layout/transpose.h"

namespace torchlet::cpu {

// Writes the elements of one tensor into another of the same sizes and dtype, whatever the strides.
class CopyStep : public Step {
 public:
  CopyStep(TensorId from, TensorId to)
      : from_(reading(Operand::strided(from))), to_(writing(Operand::strided(to))) {}
  const char* kernel() const override { return "copy_strided"; }
  Operand from() const { return from_; }
  Operand to() const { return to_; }
  void run(const Memory& m) const override {
    const PlanTensor& from = m.tensor(from_);
    const PlanTensor& to = m.tensor(to_);
    kernels::copy_strided(static_cast<int64_t>(element_size(to.dtype)),
                          static_cast<int>(to.sizes.size()), to.sizes.data(), m.address(from_),
                          from.strides.data(), m.address(to_), to.strides.data());
  }

 private:
  Operand from_, to_;
};

}  // namespace torchlet::cpu
