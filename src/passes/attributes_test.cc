#include "passes/attributes.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

std::string outline_of(const std::string& body) {
  Program program(module_class("Inner", {"kept : Tensor", "p : float"}, "") +
                  module_class("M", {"inner : __torch__.Inner", "kept : Tensor", "p : float"},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + body +
                                   "  def step(self: __torch__.M, n: int) -> Tensor:\n"
                                   "    if torch.gt(n, 0):\n"
                                   "      self.kept = (self).step(torch.sub(n, 1))\n"
                                   "    else:\n"
                                   "      pass\n"
                                   "    return self.kept\n"));
  const Value inner = program.object("Inner", {{"kept", ops::make({0})}, {"p", 0.5}});
  return outline(*Program::optimized(
                      program.object("M", {{"inner", inner}, {"kept", ops::make({0})}, {"p", 0.5}}))
                      .graph);
}

TEST(Attributes, WhatIsStoredIsPassedOn) {
  EXPECT_EQ(outline_of("    self.kept = torch.relu(x)\n"
                       "    self.inner.kept = x\n"
                       "    return torch.neg(self.kept)\n"),
            "relu SetAttr.kept GetAttr.inner SetAttr.kept neg");
  // As MONAI's AHNet has it.
  EXPECT_EQ(outline_of("    self.p = 0.\n"
                       "    if torch.gt(self.p, 0.):\n"
                       "      x = torch.dropout(x, self.p, True)\n"
                       "    else:\n"
                       "      pass\n"
                       "    return torch.relu(x)\n"),
            "SetAttr.p relu");
}

TEST(Attributes, NotPastWhatMayStoreSomethingElse) {
  const std::string set = "    self.kept = torch.relu(x)\n";
  const std::string get = "    return torch.neg(self.kept)\n";
  EXPECT_EQ(outline_of(set +
                       "    if torch.is_floating_point(x):\n"
                       "      self.kept = x\n"
                       "    else:\n"
                       "      pass\n" +
                       get),
            "relu SetAttr.kept is_floating_point If(SetAttr.kept|) GetAttr.kept neg");
  EXPECT_EQ(
      outline_of(set + "    _0 = (self).step(torch.size(x, 0))\n" + get).find("GetAttr.kept neg"),
      outline_of(set + "    _0 = (self).step(torch.size(x, 0))\n" + get).size() - 16);
  EXPECT_EQ(outline_of(set +
                       "    for i in range(torch.size(x, 0)):\n"
                       "      self.kept = torch.exp(self.kept)\n" +
                       get),
            "relu SetAttr.kept size Loop(GetAttr.kept exp SetAttr.kept) GetAttr.kept neg");
}

}  // namespace
}  // namespace torchlet::passes
