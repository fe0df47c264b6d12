#include "passes/padding.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/analysis/constants.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

Optimized optimized(const std::string& pad) {
  Program program(
      module_class("M", {"w : Tensor"},
                   "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    y = " + pad +
                       "\n    return torch.conv2d(y, self.w, None, [1, 1], [1, 0], [1, 1], 1)\n"));
  return Program::optimized(program.object("M", {{"w", ops::ramp({1, 1, 3, 3})}}));
}

TEST(FoldPadding, ZerosThatAreTheSameOnBothSides) {
  for (const char* pad :
       {"torch.pad(x, [2, 2, 1, 1])", "torch.pad(x, [2, 2, 1, 1], \"constant\", 0.)",
        "torch.constant_pad_nd(x, [2, 2, 1, 1], 0)"}) {
    const Optimized made = optimized(pad);
    EXPECT_EQ(outline(*made.graph), "conv2d");
    const Node* conv = made.graph->outputs()[0]->node();
    EXPECT_EQ(to_text(*constant_of(conv->input(4))), "[2, 2]");
    EXPECT_EQ(conv->input(0), made.graph->inputs()[1]);
  }
}

TEST(FoldPadding, OthersStay) {
  EXPECT_EQ(outline(*optimized("torch.pad(x, [2, 1, 1, 1])").graph), "pad conv2d");
  EXPECT_EQ(outline(*optimized("torch.pad(x, [2, 2])").graph), "pad conv2d");
  EXPECT_EQ(outline(*optimized("torch.pad(x, [-1, -1, 0, 0])").graph), "pad conv2d");
  EXPECT_EQ(outline(*optimized("torch.pad(x, [1, 1, 1, 1], \"reflect\")").graph), "pad conv2d");
  EXPECT_EQ(outline(*optimized("torch.constant_pad_nd(x, [1, 1, 1, 1], 2)").graph),
            "constant_pad_nd conv2d");
}

TEST(FoldPadding, WhatIsWrittenInBetweenStays) {
  EXPECT_EQ(outline(*optimized("torch.pad(x, [1, 1, 1, 1])\n    z = torch.relu_(x)").graph),
            "pad relu_ conv2d");
  EXPECT_EQ(
      outline(*optimized("torch.pad(x, [1, 1, 1, 1])\n    z = torch.relu_(torch.neg(x))").graph),
      "neg relu conv2d");
}

}  // namespace
}  // namespace torchlet::passes
