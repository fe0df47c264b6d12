#include "passes/ranks.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

std::string outline_of(const std::string& body) {
  Program program(
      "def check(x: Tensor) -> NoneType:\n"
      "  if torch.ne(torch.dim(x), 4):\n"
      "    ops.prim.RaiseException(\"expected 4D\", \"builtins.ValueError\")\n"
      "  else:\n"
      "    pass\n"
      "  return None\n" +
      module_class("M", {"w : Tensor"},
                   "  def forward(self: __torch__.M, x: Tensor, z: Tensor) -> Tensor:\n" + body));
  return outline(*Program::optimized(program.object("M", {{"w", ops::ramp({2, 2, 1, 1})}})).graph);
}

TEST(FoldRanks, OneCheckIsEnough) {
  EXPECT_EQ(outline_of("    a = torch.conv2d(x, self.w)\n"
                       "    _0 = __torch__.check(a)\n"
                       "    b = torch.relu(a)\n"
                       "    _1 = __torch__.check(b)\n"
                       "    c = torch.add(torch.conv2d(b, self.w), a)\n"
                       "    _2 = __torch__.check(c)\n"
                       "    return c\n"),
            "conv2d dim ne If(RaiseException|) relu conv2d add");
}

TEST(FoldRanks, OfEveryPointwiseOperator) {
  EXPECT_EQ(outline_of("    _0 = __torch__.check(x)\n"
                       "    a = torch.rsqrt(torch.erf(torch.log(x)))\n"
                       "    b = torch.atan2(a, torch.floor(x))\n"
                       "    _1 = __torch__.check(torch.where(torch.gt(b, 0), a, b))\n"
                       "    return torch.linear(b, torch.view(self.w, [2, 2]))\n"),
            "dim ne If(RaiseException|) log erf rsqrt floor atan2 gt where linear");
}

TEST(FoldRanks, NotByAListThatChanges) {
  EXPECT_EQ(outline_of("    sizes = annotate(List[int], [2, 2])\n"
                       "    for i in range(torch.size(z, 0)):\n"
                       "      _0 = torch.append(sizes, 1)\n"
                       "    a = torch.reshape(x, sizes)\n"
                       "    _1 = __torch__.check(a)\n"
                       "    return a\n"),
            "ListConstruct size Loop(append) reshape dim ne If(RaiseException|)");
  EXPECT_EQ(
      outline_of("    _0 = __torch__.check(x)\n"
                 "    parts = [x, z]\n"
                 "    _1 = torch._set_item(parts, torch.size(z, 0), z)\n"
                 "    a = torch.cat(parts, 0)\n"
                 "    _2 = __torch__.check(a)\n"
                 "    return a\n"),
      "dim ne If(RaiseException|) ListConstruct size _set_item cat dim ne If(RaiseException|)");
}

TEST(FoldRanks, NotOfAnotherTensorNorBeforeTheCheck) {
  EXPECT_EQ(outline_of("    a = torch.mul(x, z)\n"
                       "    _0 = __torch__.check(x)\n"
                       "    _1 = __torch__.check(a)\n"
                       "    return a\n"),
            "mul dim ne If(RaiseException|) dim ne If(RaiseException|)");
  EXPECT_EQ(outline_of("    if torch.eq(torch.dim(x), 3):\n"
                       "      a = torch.unsqueeze(x, 0)\n"
                       "      _0 = __torch__.check(a)\n"
                       "    else:\n"
                       "      a = x\n"
                       "    _1 = __torch__.check(a)\n"
                       "    return a\n"),
            "dim eq If(unsqueeze|) dim ne If(RaiseException|)");
}

TEST(FoldRanks, ShapesThatAreWrittenOut) {
  EXPECT_EQ(outline_of("    a = torch.view(x, [torch.size(x, 0), 2, 3, -1])\n"
                       "    _0 = __torch__.check(a)\n"
                       "    _1 = __torch__.check(torch.unsqueeze(torch.flatten(a, 2, -1), 0))\n"
                       "    return torch.mul(a, torch.len(torch.size(a)))\n"),
            "size ListConstruct view flatten unsqueeze mul");
}

TEST(FoldRanks, NotWhenARankChangesInPlace) {
  EXPECT_EQ(outline_of("    a = torch.relu(x)\n"
                       "    _0 = __torch__.check(a)\n"
                       "    _1 = torch.unsqueeze_(a, 0)\n"
                       "    _2 = __torch__.check(a)\n"
                       "    return a\n"),
            "relu dim ne If(RaiseException|) unsqueeze_ dim ne If(RaiseException|)");
}

TEST(FoldRanks, NumbersThatAreNoRanks) {
  for (const std::string start : {"-1", "-9223372036854775808", "9223372036854775807"}) {
    EXPECT_EQ(outline_of("    a = torch.flatten(x, " + start +
                         ", -1)\n"
                         "    _0 = __torch__.check(a)\n"
                         "    return a\n"),
              "flatten dim ne If(RaiseException|)");
  }
}

TEST(Ranks, ALongChainOfNegationsIsFollowedWithoutRecursion) {
  std::string body = "    a = torch.eq(torch.dim(x), 4)\n";
  for (int i = 0; i < 30'000; ++i) body += "    a = torch.__not__(a)\n";
  Program program(module_class("M", {},
                               "  def forward(self: __torch__.M, x: Tensor) -> int:\n" + body +
                                   "    if a:\n"
                                   "      y = torch.dim(x)\n"
                                   "    else:\n"
                                   "      y = 1\n"
                                   "    return y\n"));
  const auto made = Program::optimized(program.object("M", {}));
  EXPECT_EQ(outline(*made.graph).find("If(|"), outline(*made.graph).find("If("));
}

}  // namespace
}  // namespace torchlet::passes
