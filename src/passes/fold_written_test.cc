#include "passes/fold_written.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/analysis/constants.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

// What is left of the body of forward(self, x: Tensor), where self.b is [0, 1, 2, 3, 4, 5].
Optimized folded(const std::string& body) {
  Program program(module_class("M", {"b : Tensor"},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + body));
  const Tensor b = ops::make({0, 1, 2, 3, 4, 5});
  return Program::optimized(program.object("M", {{"b", Value(b)}}));
}
std::string outline_of(const std::string& body) { return outline(*folded(body).graph); }

// Of the node that gives the result.
void expect_second_input(const Optimized& made, const std::vector<double>& values) {
  const Value* constant = constant_of(made.graph->outputs()[0]->node()->input(1));
  ASSERT_TRUE(constant);
  ops::expect_tensor(constant->to_tensor(), values);
}

// As in torchvision's Swin Transformer v2, which has no bias of keys.
TEST(FoldWritten, APartOfABias) {
  const Optimized made = folded(
      "    b = torch.clone(self.b)\n"
      "    n = torch.floordiv(torch.numel(b), 3)\n"
      "    _0 = torch.zero_(torch.slice(b, 0, n, torch.mul(n, 2)))\n"
      "    return torch.add(x, b)\n");
  EXPECT_EQ(outline(*made.graph), "add");
  expect_second_input(made, {0, 1, 0, 0, 4, 5});
}

TEST(FoldWritten, RegionsAndWhatFollows) {
  const Optimized made = folded(
      "    m = torch.zeros([2, 3])\n"
      "    row = torch.select(m, 0, 1)\n"
      "    _0 = torch.fill_(row, 2)\n"
      "    before = torch.add(torch.sum(m), 1)\n"
      "    _1 = torch.copy_(torch.slice(m, 1, 0, 1), torch.ones([2, 1]))\n"
      "    all = torch.add(torch.add(torch.flatten(m), torch.sum(row)), before)\n"
      "    return torch.mul(x, all)\n");
  EXPECT_EQ(outline(*made.graph), "mul");
  expect_second_input(made, {13, 12, 12, 13, 14, 14});
}

// The second is a copy of the first.
TEST(FoldWritten, OneAfterAnother) {
  const Optimized made = folded(
      "    m = torch.zeros([3])\n"
      "    _0 = torch.fill_(torch.select(m, 0, 1), 2)\n"
      "    n = torch.clone(m)\n"
      "    _1 = torch.fill_(torch.select(n, 0, 2), 3)\n"
      "    return torch.add(x, torch.sub(n, m))\n");
  EXPECT_EQ(outline(*made.graph), "add");
  expect_second_input(made, {0, 0, 3});
}

TEST(FoldWritten, InABranchThatMakesIt) {
  EXPECT_EQ(outline_of("    if torch.is_floating_point(x):\n"
                       "      m = torch.zeros([3])\n"
                       "      _0 = torch.fill_(torch.select(m, 0, 1), 2)\n"
                       "      y = torch.add(x, m)\n"
                       "    else:\n"
                       "      y = x\n"
                       "    return torch.neg(y)\n"),
            "is_floating_point If(add|) neg");
}

TEST(FoldWritten, NotWhatDependsOnTheRun) {
  // What is written, where, by a draw, in another block, or after a loop has read it.
  EXPECT_EQ(outline_of("    m = torch.zeros([3])\n"
                       "    _0 = torch.copy_(torch.select(m, 0, 1), torch.sum(x))\n"
                       "    return torch.add(x, m)\n"),
            "zeros select sum copy_ add");
  EXPECT_EQ(outline_of("    m = torch.zeros([3])\n"
                       "    _0 = torch.fill_(torch.select(m, 0, torch.size(x, 0)), 1)\n"
                       "    return torch.add(x, m)\n"),
            "zeros size select fill_ add");
  EXPECT_EQ(outline_of("    m = torch.zeros([3])\n"
                       "    _0 = torch.uniform_(torch.select(m, 0, 1))\n"
                       "    return torch.add(x, m)\n"),
            "zeros select uniform_ add");
  EXPECT_EQ(outline_of("    m = torch.zeros([3])\n"
                       "    row = torch.select(m, 0, 1)\n"
                       "    if torch.is_floating_point(x):\n"
                       "      _0 = torch.fill_(row, 1)\n"
                       "    else:\n"
                       "      pass\n"
                       "    return torch.add(x, m)\n"),
            "zeros select is_floating_point If(fill_|) add");
  EXPECT_EQ(outline_of("    m = torch.zeros([3])\n"
                       "    y = x\n"
                       "    for i in range(torch.size(x, 0)):\n"
                       "      y = torch.add(y, m)\n"
                       "    _0 = torch.fill_(torch.select(m, 0, 1), 1)\n"
                       "    return torch.add(y, m)\n"),
            "zeros size Loop(add) select fill_ add");
}

TEST(FoldWritten, NotWhatIsReadBeforeOrHandedOut) {
  EXPECT_EQ(outline_of("    m = torch.zeros([3])\n"
                       "    y = torch.add(x, m)\n"
                       "    _0 = torch.fill_(torch.select(m, 0, 1), 1)\n"
                       "    return torch.add(y, m)\n"),
            "zeros add select fill_ add");
  EXPECT_EQ(outline_of("    m = torch.zeros([3])\n"
                       "    _0 = torch.fill_(torch.select(m, 0, 1), 1)\n"
                       "    return m\n"),
            "zeros select fill_");
  // Here x may be returned or the memory; whoever writes it writes either.
  EXPECT_EQ(outline_of("    m = torch.zeros([3])\n"
                       "    _0 = torch.fill_(torch.select(m, 0, 1), 1)\n"
                       "    if torch.is_floating_point(x):\n"
                       "      y = m\n"
                       "    else:\n"
                       "      y = torch.neg(x)\n"
                       "    _1 = torch.fill_(torch.select(y, 0, 1), 1)\n"
                       "    return torch.add(m, y)\n"),
            "zeros select fill_ is_floating_point If(|neg) select fill_ add");
}

// A write that raises stays, for the run that gets there.
TEST(FoldWritten, NotWhatRaises) {
  EXPECT_EQ(outline_of("    m = torch.zeros([3])\n"
                       "    _0 = torch.fill_(torch.select(m, 0, 7), 1)\n"
                       "    return torch.add(x, m)\n"),
            "zeros select fill_ add");
}

}  // namespace
}  // namespace torchlet::passes
