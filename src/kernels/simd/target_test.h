#pragma once

// For tests: run a check with every instruction set that was compiled and that this processor has.
// Tests of kernels with dot products define HWY_WANT_AVX3_DL first, as these do; on Arm they get
// the forms of foreach_dot.h.

#include "kernels/simd/simd_targets.h"
// After the line above.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "kernels/simd/isa.h"

namespace torchlet::kernels {

template <typename Check>
void for_each_target(const Check& check) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
#if defined(HWY_WANT_AVX3_DL) && HWY_ARCH_X86
    const Isa limit = limit_isa(target >= HWY_AVX2 ? Isa::kAvx2 : Isa::kAmx);
#endif
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#if defined(HWY_WANT_AVX3_DL) && HWY_ARCH_ARM
    for (const Isa most : {Isa::kNeon, Isa::kDotProd, Isa::kI8mm}) {
      if (!has(most)) break;
      SCOPED_TRACE(isa_name(most));
      const Isa limit = limit_isa(most);
      check();
      limit_isa(limit);
    }
#else
    check();
#endif
#if defined(HWY_WANT_AVX3_DL) && HWY_ARCH_X86
    limit_isa(Isa::kAvxVnni);
    if (target == HWY_AVX2 && has(Isa::kAvxVnni)) {
      SCOPED_TRACE(isa_name(Isa::kAvxVnni));
      check();
    }
    limit_isa(limit);
#endif
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Calls check() with AMX, where there is, and without.
template <typename Check>
void with_and_without_amx(const Check& check) {
  check();
  if (!has(Isa::kAmx)) return;
  SCOPED_TRACE("without AMX");
  const Isa limit = limit_isa(Isa::kAvx512Fp16);
  check();
  limit_isa(limit);
}

}  // namespace torchlet::kernels
