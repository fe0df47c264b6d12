#include "passes/lists.h"

#include <gtest/gtest.h>

#include "passes/testing.h"

namespace torchlet::passes {
namespace {

std::string outline_of(const std::string& body) {
  Program program(module_class("M", {"sizes : List[int]"},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + body));
  const Value object = program.object("M", {{"sizes", Value::list({2, 3, 4})}});
  return outline(*Program::optimized(object).graph);
}

TEST(Lists, ItemsThatAreSetAreThereAtOnce) {
  const std::string set_first = "    _0 = torch._set_item(l, 0, torch.size(x, 0))\n";
  const std::string reshape = "    return torch.reshape(x, l)\n";
  EXPECT_EQ(outline_of("    l = [1, 2]\n" + set_first + reshape), "size ListConstruct reshape");
  EXPECT_EQ(outline_of("    l = torch.mul([0], 2)\n" + set_first + reshape),
            "size ListConstruct reshape");
  EXPECT_EQ(outline_of("    l = torch.list(self.sizes)\n" + set_first +
                       "    _1 = torch._set_item(l, -1, torch.size(x, 1))\n"
                       "    _2 = torch.append(l, l[1])\n" +
                       reshape),
            "size size ListConstruct reshape");
}

TEST(Lists, ItemsThatAreInsertedReversedAndTakenOut) {
  EXPECT_EQ(outline_of("    l = [torch.relu(x), torch.neg(x)]\n"
                       "    torch.insert(l, 0, torch.exp(x))\n"
                       "    torch.reverse(l)\n"
                       "    a = torch.pop(l)\n"
                       "    b = torch.pop(l, 0)\n"
                       "    return torch.sub(torch.sub(a, b), l[0], alpha=torch.len(l))\n"),
            "relu neg exp sub sub");
}

TEST(Lists, WhoReadsBeforeFindsWhatThereIs) {
  EXPECT_EQ(outline_of("    l = [x, x]\n"
                       "    _0 = torch._set_item(l, 1, torch.relu(torch.cat(l)))\n"
                       "    a = l[1]\n"
                       "    _1 = torch._set_item(l, 1, torch.neg(a))\n"
                       "    return torch.cat(l)\n"),
            "ListConstruct cat relu neg ListConstruct cat");
}

TEST(Lists, WhatIsNotUnderstoodStays) {
  EXPECT_EQ(outline_of("    l = annotate(List[Tensor], [])\n"
                       "    return torch.pop(l)\n"),
            "ListConstruct pop");
  // An item that is not there, a place that the run tells, a write in a branch, and a list that
  // somebody else has.
  EXPECT_EQ(outline_of("    l = [1, torch.size(x, 0)]\n"
                       "    _0 = torch._set_item(l, 2, 1)\n"
                       "    return torch.reshape(x, l)\n"),
            "size ListConstruct _set_item reshape");
  EXPECT_EQ(outline_of("    l = [1, 2]\n"
                       "    _0 = torch._set_item(l, torch.size(x, 0), 1)\n"
                       "    return torch.reshape(x, l)\n"),
            "ListConstruct size _set_item reshape");
  EXPECT_EQ(outline_of("    l = [1, 2]\n"
                       "    if torch.is_floating_point(x):\n"
                       "      _0 = torch._set_item(l, 0, 2)\n"
                       "    else:\n"
                       "      pass\n"
                       "    return torch.reshape(x, l)\n"),
            "ListConstruct is_floating_point If(_set_item|) reshape");
  EXPECT_EQ(outline_of("    _0 = torch._set_item(self.sizes, 0, 2)\n"
                       "    return torch.reshape(x, self.sizes)\n"),
            "GetAttr.sizes _set_item GetAttr.sizes reshape");
}

}  // namespace
}  // namespace torchlet::passes
