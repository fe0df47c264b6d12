#pragma once

#include "device/cpu/plan.h"
#include "kernels/transpose.h"

namespace torchlet::cpu {

// Writes the elements of one tensor into another of the same sizes and dtype, whatever the strides.
class CopyStep : public Step {
 public:
  explicit CopyStep(TensorId from) : from_(from) {}
  const char* kernel() const override { return "copy_strided"; }
  bool reads_strides() const override { return true; }
  void run(const Memory& m) const override {
    const PlanTensor& from = m.tensor(from_);
    const PlanTensor& to = m.tensor(writes);
    kernels::copy_strided(static_cast<int64_t>(element_size(to.dtype)),
                          static_cast<int>(to.sizes.size()), to.sizes.data(), m.address(from_),
                          from.strides.data(), m.address(writes), to.strides.data());
  }

 private:
  TensorId from_;
};

}  // namespace torchlet::cpu
