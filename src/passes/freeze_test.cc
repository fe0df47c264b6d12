#include "passes/freeze.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/analysis/constants.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

using ops::make;

constexpr const char* kForward = "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n";

TEST(Freeze, AttributesBecomeConstantsThatShareMemory) {
  Program program(module_class("M", {"w : Tensor", "training : bool"},
                               std::string(kForward) + "    if self.training:\n"
                                                       "      y = torch.sub(x, self.w)\n"
                                                       "    else:\n"
                                                       "      y = torch.add(x, self.w)\n"
                                                       "    return y\n"));
  const Tensor w = make({1, 2});
  const Optimized made = Program::optimized(program.object("M", {{"w", w}, {"training", false}}));
  EXPECT_EQ(outline(*made.graph), "add");
  const Value* constant = constant_of(made.graph->outputs()[0]->node()->input(1));
  ASSERT_TRUE(constant);
  EXPECT_TRUE(constant->is_same(Value(w)));
  EXPECT_TRUE(made.writes.slots.empty() && made.writes.memory.empty());
  EXPECT_EQ(made.reads.slots.size(), 2u);
}

TEST(Freeze, WhatTheMethodWritesStays) {
  Program program(module_class(
      "M", {"count : int", "total : Tensor", "w : Tensor"},
      std::string(kForward) + "    self.count = torch.add(self.count, 1)\n"
                              "    view = torch.slice(self.total, 0, 0, 1)\n"
                              "    _0 = torch.add_(view, x)\n"
                              "    return torch.mul(torch.add(self.total, self.w), self.count)\n"));
  const Optimized made = Program::optimized(
      program.object("M", {{"count", 0}, {"total", make({0, 0})}, {"w", make({1, 1})}}));
  EXPECT_EQ(outline(*made.graph),
            "GetAttr.count add SetAttr.count GetAttr.total slice add_ GetAttr.total add mul");
}

TEST(Freeze, StoringWhatIsThereWritesNothing) {
  const auto outline_with = [](double held, double other) {
    Program program(module_class("M", {"p : float"},
                                 std::string(kForward) +
                                     "    self.p = 0.5\n"
                                     "    y = torch.mul(x, self.p)\n"
                                     "    self.p = " +
                                     std::to_string(other) +
                                     "\n"
                                     "    return torch.mul(y, self.p)\n"));
    const Optimized made = Program::optimized(program.object("M", {{"p", held}}));
    return std::to_string(made.writes.slots.size()) + " " + outline(*made.graph);
  };
  EXPECT_EQ(outline_with(0.5, 0.5), "0 mul mul");
  EXPECT_EQ(outline_with(0.25, 0.5), "1 SetAttr.p mul SetAttr.p mul");
  EXPECT_EQ(outline_with(0.5, 0.25), "1 SetAttr.p mul SetAttr.p mul");
}

TEST(Freeze, WhatSharesMemoryWithSomethingWrittenStays) {
  Program program(module_class("M", {"a : Tensor", "b : Tensor"},
                               std::string(kForward) + "    _0 = torch.add_(self.a, x)\n"
                                                       "    return torch.relu(self.b)\n"));
  const Tensor a = make({1, 2, 3});
  const Optimized tied =
      Program::optimized(program.object("M", {{"a", a}, {"b", ops::view(a, IntArray{3, 1})}}));
  EXPECT_EQ(outline(*tied.graph), "GetAttr.a add_ GetAttr.b relu");
  const Optimized apart = Program::optimized(program.object("M", {{"a", a}, {"b", make({-1, 2})}}));
  EXPECT_EQ(outline(*apart.graph), "GetAttr.a add_ relu");
}

TEST(Freeze, ListsStayWhenItemsAreAdded) {
  Program program(module_class("M", {"seen : List[int]", "sizes : List[int]"},
                               "  def forward(self: __torch__.M, x: int) -> int:\n"
                               "    _0 = torch.append(self.seen, x)\n"
                               "    return torch.add(torch.len(self.seen), (self.sizes)[1])\n"));
  const Optimized made = Program::optimized(
      program.object("M", {{"seen", make_int_list({})}, {"sizes", Value::list({3, 4})}}));
  EXPECT_EQ(outline(*made.graph), "GetAttr.seen append GetAttr.seen len add");
  EXPECT_EQ(constant_of(made.graph->outputs()[0]->node()->input(1))->to_int(), 4);
}

TEST(Freeze, OtherMethodsMayWrite) {
  Program program(module_class("M", {"scale : float"},
                               "  def forward(self: __torch__.M, x: float) -> float:\n"
                               "    return torch.mul(x, self.scale)\n"
                               "  def set(self: __torch__.M, scale: float) -> NoneType:\n"
                               "    self.scale = scale\n"
                               "    return None\n"));
  const Value object = program.object("M", {{"scale", 2.0}});
  const Optimized alone = Program::optimized(object);
  EXPECT_EQ(outline(*alone.graph), "mul");
  const Optimized set = Program::optimized(object, "set");
  EXPECT_TRUE(alone.reads.conflicts(set.writes));
  EXPECT_FALSE(set.reads.conflicts(set.writes));
  const Optimized again = Program::optimized(object, "forward", set.writes);
  EXPECT_EQ(outline(*again.graph), "GetAttr.scale mul");
  EXPECT_FALSE(again.reads.conflicts(set.writes));
}

TEST(Freeze, MethodsOfInterfacesAndContainersAreFound) {
  Program program(
      "class Layer(ModuleInterface):\n"
      "  def forward(self: __torch__.Layer, x: Tensor) -> Tensor:\n    pass\n" +
      module_class("Relu", {},
                   "  def forward(self: __torch__.Relu, x: Tensor) -> Tensor:\n"
                   "    return torch.relu(x)\n") +
      module_class("M", {"layer : __torch__.Layer"},
                   std::string(kForward) + "    return (self.layer).forward(x)\n"));
  const Value object = program.object("M", {{"layer", program.object("Relu", {})}});
  EXPECT_EQ(outline(*Program::optimized(object).graph), "relu");
}

TEST(Freeze, ObjectsInDictsThatNobodyWritesAreKnown) {
  const auto outline_with = [](const std::string& before) {
    Program program("class Recipe(object):\n  order : List[int]\n" +
                    module_class("M", {"recipes : Dict[int, __torch__.Recipe]"},
                                 std::string(kForward) + before +
                                     "    recipe = (self.recipes)[2]\n"
                                     "    return torch.permute(x, recipe.order)\n"));
    const Value recipe = program.object("Recipe", {{"order", Value::list({1, 0})}});
    auto recipes = make_ref<Dict>(types::integer(), types::any());
    recipes->set(Value(2), recipe);
    return outline(*Program::optimized(program.object("M", {{"recipes", Value(recipes)}})).graph);
  };
  EXPECT_EQ(outline_with(""), "permute");
  EXPECT_EQ(outline_with("    _0 = torch.clear(self.recipes)\n"),
            "GetAttr.recipes clear GetAttr.recipes __getitem__ GetAttr.order permute");
  EXPECT_EQ(outline_with("    (self.recipes)[2].order = [0, 1]\n"),
            "ListConstruct GetAttr.recipes __getitem__ SetAttr.order permute");
}

TEST(Freeze, NoneAndOptionalAttributesDecideBranches) {
  Program program(module_class("M", {"bias : Optional[Tensor]"},
                               std::string(kForward) +
                                   "    if torch.__isnot__(self.bias, None):\n"
                                   "      bias = unchecked_cast(Tensor, self.bias)\n"
                                   "      y = torch.add(x, bias)\n"
                                   "    else:\n"
                                   "      y = torch.relu(x)\n"
                                   "    return y\n"));
  EXPECT_EQ(outline(*Program::optimized(program.object("M", {{"bias", make({1})}})).graph), "add");
  EXPECT_EQ(outline(*Program::optimized(program.object("M", {{"bias", Value()}})).graph), "relu");
}

TEST(Freeze, AnObjectThatLeavesStaysTheSameObject) {
  Program program(module_class("Inner", {"w : Tensor"}, "") +
                  module_class("M", {"inner : __torch__.Inner"},
                               "  def forward(self: __torch__.M) -> __torch__.Inner:\n"
                               "    return self.inner\n"));
  const Value inner = program.object("Inner", {{"w", make({1})}});
  EXPECT_EQ(outline(*Program::optimized(program.object("M", {{"inner", inner}})).graph),
            "GetAttr.inner");
}

TEST(Freeze, RunningStatisticsAreWrittenInTraining) {
  Program program(module_class(
      "M", {"mean : Tensor", "var : Tensor", "training : bool"},
      std::string(kForward) + "    return torch.batch_norm(x, None, None, self.mean, self.var, "
                              "self.training, 0.10000000000000001, 1.0e-05, True)\n"));
  const Tensor mean = make({0}), var = make({1});
  const auto outline_with = [&](bool training) {
    return outline(*Program::optimized(
                        program.object("M", {{"mean", mean}, {"var", var}, {"training", training}}))
                        .graph);
  };
  EXPECT_EQ(outline_with(false), "batch_norm");
  EXPECT_EQ(outline_with(true), "GetAttr.mean GetAttr.var batch_norm");
}

}  // namespace
}  // namespace torchlet::passes
