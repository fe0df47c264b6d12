#include "passes/functionalise.h"

#include <gtest/gtest.h>

#include "ops/core/derived.h"
#include "ops/core/testing.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

std::string outline_of(const std::string& body) {
  Program program(
      module_class("M", {"kept : Tensor"},
                   "  def forward(self: __torch__.M, x: Tensor, y: Tensor) -> Tensor:\n" + body));
  return outline(*Program::optimized(program.object("M", {{"kept", ops::make({0})}})).graph);
}

TEST(Functionalise, WhatTheMethodMadeItself) {
  EXPECT_EQ(outline_of("    a = torch.matmul(x, y)\n"
                       "    _0 = torch.relu_(a)\n"
                       "    b = torch.add_(a, y)\n"
                       "    return torch.hardtanh_(b)\n"),
            "matmul relu add hardtanh");
}

TEST(Functionalise, AResidualBlock) {
  EXPECT_EQ(outline_of("    a = torch.relu_(torch.matmul(x, x))\n"
                       "    b = torch.matmul(a, x)\n"
                       "    c = torch.relu_(torch.add_(b, a))\n"
                       "    return torch.add_(c, a)\n"),
            "matmul relu matmul add relu add");
}

TEST(Functionalise, WhatABranchPicked) {
  EXPECT_EQ(outline_of("    a = torch.matmul(x, y)\n"
                       "    if torch.ne(torch.size(a), torch.size(y)):\n"
                       "      b = torch.tanh(a)\n"
                       "    else:\n"
                       "      b = a\n"
                       "    return torch.relu_(torch.add_(b, y))\n"),
            "matmul size size ne If(tanh|) add relu");
}

TEST(Functionalise, NotTheArguments) {
  EXPECT_EQ(outline_of("    return torch.relu_(x)\n"), "relu_");
  EXPECT_EQ(outline_of("    return torch.relu_(torch.view(x, [-1]))\n"), "view relu_");
}

TEST(Functionalise, NotWhatAnotherNameShows) {
  EXPECT_EQ(outline_of("    a = torch.neg(x)\n"
                       "    v = torch.select(a, 0, 0)\n"
                       "    _0 = torch.relu_(a)\n"
                       "    return v\n"),
            "neg select relu_");
  EXPECT_EQ(outline_of("    a = torch.neg(x)\n"
                       "    _0 = torch.relu_(torch.select(a, 0, 0))\n"
                       "    return a\n"),
            "neg select relu_");
  EXPECT_EQ(outline_of("    a = torch.neg(x)\n"
                       "    l = [a, y]\n"
                       "    _0 = torch.relu_(a)\n"
                       "    return torch.cat(l)\n"),
            "neg ListConstruct relu_ cat");
  // A view of what took an operator's place.
  EXPECT_EQ(outline_of("    a = torch.relu_(torch.neg(x))\n"
                       "    v = torch.squeeze(torch.unsqueeze(a, 0), 0)\n"
                       "    _0 = torch.sigmoid_(v)\n"
                       "    return a\n"),
            "neg relu unsqueeze squeeze sigmoid_");
  // A view that was used up before is no matter, nor is one of the result.
  EXPECT_EQ(outline_of("    a = torch.neg(x)\n"
                       "    v = torch.exp(torch.select(a, 0, 0))\n"
                       "    _0 = torch.relu_(a)\n"
                       "    return torch.add(torch.select(a, 0, 0), v)\n"),
            "neg select exp relu select add");
}

// As GhostNet has them.
TEST(Functionalise, PartsWhoseStridesNobodySees) {
  const std::string part =
      "    a = torch.cat([x, y], 1)\n"
      "    b = torch.add_(torch.slice(torch.slice(a, 0, 0, 9), 1, 0, 3), 1)\n";
  EXPECT_EQ(outline_of(part + "    return torch.neg(torch.view(b, [-1, 3]))\n"),
            "ListConstruct cat slice slice add view neg");
  EXPECT_EQ(outline_of(part + "    return torch.squeeze(b)\n"),
            "ListConstruct cat slice slice add_ squeeze");
  EXPECT_EQ(outline_of(part + "    return torch.neg(torch.as_strided(b, [2], [1]))\n"),
            "ListConstruct cat slice slice add_ as_strided neg");
  EXPECT_EQ(outline_of(part + "    return torch.add(a, b)\n"),
            "ListConstruct cat slice slice add_ add");
}

TEST(Functionalise, NotWhatAnObjectKeeps) {
  EXPECT_EQ(outline_of("    a = torch.neg(x)\n"
                       "    self.kept = a\n"
                       "    return torch.relu_(a)\n"),
            "neg SetAttr.kept relu_");
}

TEST(Functionalise, BranchesAndLoops) {
  // Only on one way: the memory outside changes there.
  EXPECT_EQ(outline_of("    a = torch.neg(x)\n"
                       "    if torch.is_floating_point(y):\n"
                       "      b = torch.relu_(a)\n"
                       "    else:\n"
                       "      b = y\n"
                       "    return torch.add(a, b)\n"),
            "neg is_floating_point If(relu_|) add");
  EXPECT_EQ(outline_of("    a = x\n"
                       "    for i in range(torch.size(y, 0)):\n"
                       "      a = torch.relu_(torch.matmul(a, y))\n"
                       "    return a\n"),
            "size Loop(matmul relu)");
  EXPECT_EQ(outline_of("    a = torch.neg(x)\n"
                       "    for i in range(torch.size(y, 0)):\n"
                       "      a = torch.relu_(a)\n"
                       "    return a\n"),
            "neg size Loop(relu_)");
}

TEST(Functionalise, WhatEachSideOfABranchMade) {
  const auto branch = [](const std::string& one, const std::string& other, const char* after) {
    return outline_of(
        "    a = torch.neg(x)\n"
        "    if torch.is_floating_point(y):\n"
        "      b = " +
        one +
        "\n"
        "    else:\n"
        "      b = " +
        other +
        "\n"
        "    _0 = torch.relu_(b)\n"
        "    return " +
        after + "\n");
  };
  EXPECT_EQ(branch("torch.exp(x)", "torch.squeeze(torch.exp(torch.unsqueeze(x, 0)), 0)", "b"),
            "neg is_floating_point If(exp|unsqueeze exp squeeze) relu");
  EXPECT_EQ(branch("torch.exp(x)", "a", "b"), "neg is_floating_point If(exp|) relu");
  EXPECT_EQ(branch("torch.exp(x)", "a", "torch.add(b, a)"),
            "neg is_floating_point If(exp|) relu_ add");
  EXPECT_EQ(branch("torch.exp(x)", "x", "b"), "neg is_floating_point If(exp|) relu_");
  EXPECT_EQ(branch("torch.exp(x)", "torch.select(a, 0, 0)", "b"),
            "neg is_floating_point If(exp|select) relu_");
}

TEST(Functionalise, TwinsGiveWhatSelfWouldHold) {
  const Operator* add = ops::functional_twin(*find_operator("aten::add_", "Tensor"));
  ASSERT_TRUE(add);
  EXPECT_EQ(add->name.str(), "aten::add");
  EXPECT_FALSE(add->schema.arguments[0].is_written);
  const auto call = [&](const Tensor& self, const Tensor& other) {
    Value args[] = {self, other, 1}, result;
    add->call(args, {&result, 1});
    return result.to_tensor();
  };
  const Tensor self = ops::make({1, 2});
  ops::expect_tensor(call(self, ops::make({0.5, 1}, DType::kFloat64)), {1.5, 3});  // stays float32
  ops::expect_tensor(self, {1, 2});
  EXPECT_THROW(call(ops::make({1}), self), Error);     // self does not grow
  EXPECT_THROW(call(ops::ints({1, 2}), self), Error);  // nor become float
  EXPECT_FALSE(ops::functional_twin(*find_operator("aten::add", "Tensor")));
  EXPECT_FALSE(ops::functional_twin(*find_operator("aten::unsqueeze_", "")));
}

TEST(Functionalise, InFilesOnlyWhatReadsNoOtherTensor) {
  Program program(module_class("M", {},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                               "    a = torch.relu_(torch.matmul(x, x))\n"
                               "    b = torch.matmul(a, x)\n"
                               "    return torch.hardtanh_(torch.add_(b, x))\n"));
  const Value object = program.object("M", {});
  PassSet passes = PassSet::of(kForFiles);
  passes.insert("out-of-place");
  const Optimized made = optimize(Program::method(object), object, {}, {passes, true, nullptr});
  // As PyTorch knows it, add() of a float64 x would give float64.
  EXPECT_EQ(outline(*made.graph), "matmul relu matmul add_ hardtanh_");
}

}  // namespace
}  // namespace torchlet::passes
