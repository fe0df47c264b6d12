#include "passes/unroll.h"

#include <gtest/gtest.h>

#include "passes/testing.h"

namespace torchlet::passes {
namespace {

std::string outline_of(const std::string& body, const std::string& more_arguments = "") {
  Program program(module_class(
      "M", {},
      "  def forward(self: __torch__.M, x: Tensor" + more_arguments + ") -> Tensor:\n" + body));
  return outline(*Program::optimized(program.object("M", {})).graph);
}

TEST(Unroll, TripsOneAfterTheOther) {
  EXPECT_EQ(outline_of("    for i in range(3):\n"
                       "      x = torch.relu(torch.mul(x, i))\n"
                       "    return x\n"),
            "mul relu mul relu mul relu");
  EXPECT_EQ(outline_of("    for i in range(0):\n"
                       "      x = torch.relu(x)\n"
                       "    return x\n"),
            "");
}

TEST(Unroll, WhatEachTripKnowsIsComputed) {
  EXPECT_EQ(outline_of("    for i in range(3):\n"
                       "      if torch.eq(i, 1):\n"
                       "        x = torch.neg(x)\n"
                       "      else:\n"
                       "        x = torch.relu(x)\n"
                       "    return x\n"),
            "relu neg relu");
  EXPECT_EQ(outline_of("    for i in range(2):\n"
                       "      for j in range(torch.add(i, 1)):\n"
                       "        x = torch.relu(x)\n"
                       "    return x\n"),
            "relu relu relu");
}

TEST(Unroll, ListsThatAreFilledAreMadeAtOnce) {
  EXPECT_EQ(outline_of("    sizes = annotate(List[int], [])\n"
                       "    for i in range(2):\n"
                       "      _0 = torch.append(sizes, torch.size(x, i))\n"
                       "    return torch.reshape(x, sizes)\n"),
            "size size ListConstruct reshape");
}

TEST(Unroll, ConditionsThatEachTripTells) {
  EXPECT_EQ(outline_of("    i = 5\n"
                       "    again = True\n"
                       "    while again:\n"
                       "      x = torch.relu(x)\n"
                       "      i = torch.floordiv(i, 2)\n"
                       "      again = torch.gt(i, 0)\n"
                       "    return x\n"),
            "relu relu relu");
  // Not if the run tells one of them.
  EXPECT_EQ(outline_of("    i = 3\n"
                       "    again = True\n"
                       "    while again:\n"
                       "      x = torch.relu(x)\n"
                       "      i = torch.sub(i, 1)\n"
                       "      if torch.eq(i, 1):\n"
                       "        again = torch.is_floating_point(x)\n"
                       "      else:\n"
                       "        again = torch.gt(i, 0)\n"
                       "    return x\n"),
            "Loop(relu sub eq If(is_floating_point|gt))");
}

TEST(Unroll, LongLoopsStay) {
  EXPECT_EQ(outline_of("    for i in range(65):\n"
                       "      x = torch.relu(x)\n"
                       "    return x\n"),
            "Loop(relu)");
  std::string body;
  for (int i = 0; i < 40; ++i) body += "      x = torch.relu(torch.neg(x))\n";
  const std::string outline = outline_of("    for i in range(20):\n" + body + "    return x\n");
  EXPECT_EQ(outline.substr(0, 15), "Loop(neg relu n");
}

// What is added is bounded for the whole graph.
TEST(Unroll, LoopsWithinLoopsAreBoundedTogether) {
  const std::string outline = outline_of(
      "    for i in range(64):\n"
      "      for j in range(64):\n"
      "        x = torch.relu(torch.neg(torch.relu(torch.neg(x))))\n"
      "    return x\n");
  EXPECT_LT(outline.size(), 60'000u);
  EXPECT_NE(outline.find("Loop"), std::string::npos);
}

}  // namespace
}  // namespace torchlet::passes
