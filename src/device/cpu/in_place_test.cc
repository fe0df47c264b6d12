// Results that lie where an operand lay.
#include "device/cpu/testing.h"

namespace torchlet::cpu {
namespace {

constexpr int64_t kRows = 48, kColumns = 33;
constexpr int64_t kBytes = (kRows * kColumns * 4 + 63) / 64 * 64;  // of a matrix, in an arena

// What the arena of the plan takes, the program having been checked.
int64_t arena_of(const std::string& body) {
  Case c({{"w", random_tensor({kColumns})}, {"m", random_tensor({kColumns, 16})}}, body);
  const Tensor x = random_tensor({kRows, kColumns});
  c.check({x});
  EXPECT_EQ(c.by_reference(), "");
  PackedWeights packed;
  std::string why;
  const auto plan = c.plan({x}, packed, why);
  EXPECT_TRUE(plan) << why;
  return plan ? (plan->arena_bytes + 63) / 64 * 64 : 0;
}

TEST(InPlace, AChainOfElementsAndRowsTakesOneBuffer) {
  EXPECT_EQ(arena_of("    a = torch.mul(torch.exp(x), self.w)\n"
                     "    b = torch.softmax(a, -1)\n"
                     "    return torch.matmul(torch.sqrt(b), self.m)\n"),
            kBytes);
}

TEST(InPlace, WhatIsReadAgainStays) {
  EXPECT_EQ(arena_of("    a = torch.exp(x)\n"
                     "    b = torch.softmax(a, -1)\n"
                     "    return torch.matmul(torch.sqrt(torch.mul(a, b)), self.m)\n"),
            2 * kBytes);
}

TEST(InPlace, AnOperandThatIsReadTwiceMayBeWrittenOver) {
  EXPECT_EQ(arena_of("    a = torch.exp(x)\n"
                     "    return torch.matmul(torch.mul(a, a), self.m)\n"),
            kBytes);
}

// The rows of one operand are the columns of the other, so the result cannot lie over them.
TEST(InPlace, WhatLiesOtherwiseStays) {
  Case c({{"m", random_tensor({kRows, 16})}},
         "    a = torch.exp(x)\n"
         "    return torch.matmul(torch.mul(a, torch.transpose(a, 0, 1)), self.m)\n");
  const Tensor x = random_tensor({kRows, kRows});
  c.check({x});
  PackedWeights packed;
  std::string why;
  const auto plan = c.plan({x}, packed, why);
  ASSERT_TRUE(plan) << why;
  EXPECT_GE(plan->arena_bytes, 2 * kRows * kRows * 4);
}

TEST(InPlace, InputsAreNotWrittenOver) {
  Case c({}, "    return torch.softmax(torch.mul(x, x), -1)\n");
  const Tensor x = random_tensor({kRows, kColumns}), before = x.clone();
  c.check({x});
  Case::expect_near(x, before, 0);
}

}  // namespace
}  // namespace torchlet::cpu
