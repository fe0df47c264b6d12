#define HWY_WANT_AVX3_DL  // as isa.cc
#include "kernels/simd/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "kernels/half/float16.h"
#include "kernels/simd/simd_targets.h"
// After the line above.
#include <hwy/highway.h>

namespace torchlet::kernels {
namespace {

constexpr Isa kX86[] = {Isa::kSse4,       Isa::kAvx2,       Isa::kAvxVnni,    Isa::kAvx512,
                        Isa::kAvx512Vnni, Isa::kAvx512Bf16, Isa::kAvx512Fp16, Isa::kAmx};
constexpr Isa kArm[] = {Isa::kNeon, Isa::kFp16, Isa::kDotProd, Isa::kI8mm};

class IsaTest : public testing::Test {
 protected:
  ~IsaTest() override { limit_isa(before_); }

 private:
  Isa before_ = limit_isa(best_isa());
};

TEST_F(IsaTest, ALimitLeavesWhatComesBeforeIt) {
  const Isa best = best_isa();
  for (const Isa isa : HWY_ARCH_X86 ? std::span<const Isa>(kX86) : std::span<const Isa>(kArm)) {
    if (!has(isa)) continue;
    SCOPED_TRACE(isa_name(isa));
    const Isa limit = limit_isa(isa);
    EXPECT_EQ(best_isa(), isa);
    for (const Isa other : kX86) EXPECT_FALSE(has(other) && other > isa);
    for (const Isa other : kArm) EXPECT_FALSE(has(other) && other > isa);
    EXPECT_EQ(limit_isa(limit), isa);
  }
  EXPECT_EQ(best_isa(), best);
}

TEST_F(IsaTest, OneFamilyIsThere) {
  for (const Isa isa : HWY_ARCH_X86 ? std::span<const Isa>(kArm) : std::span<const Isa>(kX86)) {
    EXPECT_FALSE(has(isa)) << isa_name(isa);
  }
}

#if HWY_ARCH_X86
TEST_F(IsaTest, ALimitIsOneOfHighwaysTargetsToo) {
  const auto best_target = [](Isa most) {
    limit_isa(most);
    const int64_t targets = hwy::SupportedTargets();
    hwy::GetChosenTarget().DeInit();
    return targets & -targets;
  };
  const int64_t best = best_target(Isa::kAmx);
  EXPECT_EQ(best_target(Isa::kAvx512), std::max<int64_t>(best, HWY_AVX3));
  EXPECT_EQ(best_target(Isa::kAvx2), std::max<int64_t>(best, HWY_AVX2));
  EXPECT_EQ(best_target(Isa::kSse4), HWY_SSE4);
}

TEST_F(IsaTest, HalfPrecisionIsLimited) {
  limit_isa(Isa::kAvx512Vnni);
  EXPECT_FALSE(has_float16());
}
#endif

}  // namespace
}  // namespace torchlet::kernels
