#pragma once

// For tests: run a check with every instruction set that was compiled and that this processor has.
// Tests of kernels with dot products define HWY_WANT_AVX3_DL first, as these do; on Arm they get
// the forms of foreach_arm_dot.h.

#include "kernels/simd/simd_targets.h"
// After the line above.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "kernels/simd/arm_dot.h"

namespace torchlet::kernels {

template <typename Check>
void for_each_target(const Check& check) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#if defined(HWY_WANT_AVX3_DL)
    const ArmDot best = arm_dot();
    for (ArmDot dot : {ArmDot::kNone, ArmDot::kProduct, ArmDot::kMatrix}) {
      if (dot > best) break;
      SCOPED_TRACE(testing::Message() << "products of bytes: " << static_cast<int>(dot));
      limit_arm_dot(dot);
      check();
    }
    limit_arm_dot(ArmDot::kMatrix);
#else
    check();
#endif
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace torchlet::kernels
