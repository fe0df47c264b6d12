#pragma once

// For tests: run a check with every instruction set that was compiled and that this processor has.

#include "kernels/simd_targets.h"
// After the line above.
#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace torchlet::kernels {

template <typename Check>
void for_each_target(const Check& check) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace torchlet::kernels
