#pragma once

// For tests: run a check with every instruction set that was compiled and that this processor has.
// Tests of kernels with dot products define HWY_WANT_AVX3_DL first, as these do; on Arm they get
// the forms of foreach_dot.h.

#include "kernels/simd/simd_targets.h"
// After the line above.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/simd/isa.h"

namespace torchlet::kernels {

// 32-bit NEON takes numbers below the smallest normal one for zero, terms and factors of a result
// as well, and has neither division nor roots: these are products with an estimate that was
// refined, and what is made of them is as many ulps further from what is right.
#if HWY_ARCH_ARM_V7
constexpr bool kFlushesDenormals = true;
constexpr double kQuotientUlps = 2;
#else
constexpr bool kFlushesDenormals = false;
constexpr double kQuotientUlps = 0;
#endif

// The distance of `value` from `exact` in units in the last place of `exact`.
inline double ulps(float value, double exact) {
  const float rounded = static_cast<float>(exact);
  if (value == rounded || (std::isnan(value) && std::isnan(exact))) return 0;
  if (!std::isfinite(rounded) || !std::isfinite(value)) {
    return std::numeric_limits<double>::infinity();
  }
  const float magnitude = std::fabs(rounded);
  const double error = std::fabs(static_cast<double>(value) - exact);
  if (kFlushesDenormals && error <= 2.0 * std::numeric_limits<float>::min()) return 0;
  return error / (std::nextafter(magnitude, std::numeric_limits<float>::infinity()) - magnitude);
}

template <typename Check>
void for_each_target(const Check& check) {
  const std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  // Highway recognises no processor on 32-bit Arm with glibc; what was compiled runs there all the
  // same.
  if (targets.empty()) return check();
  for (const int64_t target : targets) {
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
