#include "passes/fold.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/analysis/constants.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

// What is left of the body of forward(self, x: Tensor).
Optimized folded(const std::string& body, const std::string& result = "Tensor") {
  Program program(module_class(
      "M", {}, "  def forward(self: __torch__.M, x: Tensor) -> " + result + ":\n" + body));
  return Program::optimized(program.object("M", {}));
}
std::string outline_of(const std::string& body, const std::string& result = "Tensor") {
  return outline(*folded(body, result).graph);
}

TEST(Fold, ArithmeticAndBranches) {
  const Optimized made = folded(
      "    a = torch.mul(torch.add(2, 3), 4)\n"
      "    if torch.gt(a, 10):\n"
      "      b = torch.add(a, 1)\n"
      "    else:\n"
      "      b = torch.len(torch.size(x))\n"
      "    return b\n",
      "int");
  EXPECT_EQ(outline(*made.graph), "");
  EXPECT_EQ(constant_of(made.graph->outputs()[0])->to_int(), 21);
}

TEST(Fold, WhatGoesIntoATupleComesOut) {
  EXPECT_EQ(outline_of("    t = (torch.relu(x), torch.neg(x))\n"
                       "    a, b, = t\n"
                       "    return torch.add(a, (t)[1])\n"),
            "relu neg add");
}

TEST(Fold, ListsOnlyIfNobodyAddsToThem) {
  EXPECT_EQ(outline_of("    l = [torch.relu(x), torch.neg(x)]\n"
                       "    return torch.add(l[0], l[-1], alpha=torch.len(l))\n"),
            "relu neg add");
  EXPECT_EQ(outline_of("    l = [torch.relu(x), torch.neg(x)]\n"
                       "    a = l[0]\n"
                       "    _0 = torch.append(l, x)\n"
                       "    return torch.add(a, l[-1], alpha=torch.len(l))\n"),
            "relu neg add");
  // Who concatenates in between finds what there is by then.
  EXPECT_EQ(outline_of("    l = [x]\n"
                       "    _0 = torch.append(l, torch.relu(torch.cat(l)))\n"
                       "    _1 = torch.append(l, torch.neg(torch.cat(l)))\n"
                       "    return torch.cat(l)\n"),
            "ListConstruct cat relu ListConstruct cat neg ListConstruct cat");
  // Nobody reads before the last append.
  EXPECT_EQ(outline_of("    l = annotate(List[Tensor], [])\n"
                       "    _0 = torch.append(l, torch.relu(x))\n"
                       "    y = torch.neg(x)\n"
                       "    _1 = torch.append(l, y)\n"
                       "    return torch.add(l[0], l[-1], alpha=torch.len(l))\n"),
            "relu neg add");
  EXPECT_EQ(outline_of("    l = annotate(List[Tensor], [])\n"
                       "    if torch.is_floating_point(x):\n"
                       "      _0 = torch.append(l, x)\n"
                       "    else:\n"
                       "      pass\n"
                       "    _1 = torch.append(l, torch.relu(x))\n"
                       "    return torch.cat(l)\n"),
            "ListConstruct is_floating_point If(append|) relu append cat");
}

TEST(Fold, ItemsOfDicts) {
  const std::string fill =
      "    d = annotate(Dict[str, Tensor], {})\n"
      "    torch._set_item(d, \"a\", torch.relu(x))\n"
      "    torch._set_item(d, \"b\", torch.neg(x))\n";
  EXPECT_EQ(outline_of(fill + "    torch._set_item(d, \"a\", torch.exp(d[\"a\"]))\n"
                              "    return torch.add(d[\"a\"], d[\"b\"])\n"),
            "relu neg exp add");
  // Another key may be one of these, and a missing one raises.
  EXPECT_EQ(outline_of(fill + "    return d[\"c\"]\n"),
            "relu DictConstruct _set_item neg _set_item __getitem__");
  EXPECT_EQ(outline_of(fill + "    if torch.is_floating_point(x):\n"
                              "      torch._set_item(d, \"a\", x)\n"
                              "    else:\n"
                              "      pass\n"
                              "    return d[\"a\"]\n"),
            "relu DictConstruct _set_item neg _set_item is_floating_point If(_set_item|) "
            "__getitem__");
}

TEST(Fold, TensorsThatStayInside) {
  const Optimized made = folded("    return torch.add(x, torch.mul(torch.ones([2]), 3))\n");
  EXPECT_EQ(outline(*made.graph), "add");
  ops::expect_tensor(constant_of(made.graph->outputs()[0]->node()->input(1))->to_tensor(), {3, 3});
}

TEST(Fold, NotWhatIsWrittenOrHandedOut) {
  EXPECT_EQ(outline_of("    return torch.ones([2])\n"), "ones");
  EXPECT_EQ(outline_of("    y = torch.ones([2])\n"
                       "    _0 = torch.add_(torch.select(y, 0, 1), torch.sum(x))\n"
                       "    return torch.mul(x, y)\n"),
            "ones select sum add_ mul");
}

TEST(Fold, NotRandomNumbersNorLargeTensors) {
  EXPECT_EQ(outline_of("    return torch.add(x, torch.rand([2]))\n"), "rand add");
  EXPECT_EQ(outline_of("    return torch.add(x, torch.ones([1000, 1000]))\n"), "ones add");
}

TEST(Fold, NotWhatRaises) {
  EXPECT_EQ(outline_of("    return torch.floordiv(1, 0)\n", "int"), "floordiv");
  EXPECT_EQ(outline_of("    if True:\n"
                       "      ops.prim.RaiseException(\"no\", \"builtins.ValueError\")\n"
                       "    else:\n"
                       "      pass\n"
                       "    return x\n"),
            "RaiseException");
}

TEST(Fold, BranchesInsideBlocks) {
  EXPECT_EQ(outline_of("    y = x\n"
                       "    for i in range(torch.size(x, 0)):\n"
                       "      if torch.eq(1, 1):\n"
                       "        y = torch.relu(y)\n"
                       "      else:\n"
                       "        y = torch.neg(y)\n"
                       "    return y\n"),
            "size Loop(relu)");
}

TEST(Fold, PastABranchThatRaises) {
  EXPECT_EQ(outline_of("    z = torch.relu(x)\n"
                       "    if torch.eq(torch.size(x, 0), 2):\n"
                       "      y = z\n"
                       "    else:\n"
                       "      ops.prim.RaiseException(\"no\", \"builtins.ValueError\")\n"
                       "      y = uninitialized(Tensor)\n"
                       "    return torch.neg(y)\n"),
            "relu size eq If(|RaiseException) neg");
}

TEST(Fold, DropoutAndCastsVanish) {
  EXPECT_EQ(outline_of("    y = torch.dropout(x, 0.5, False)\n"
                       "    return torch.relu(torch.feature_dropout(y, 0.5, False))\n"),
            "relu");
  EXPECT_EQ(outline_of("    return torch.dropout(x, 0.5, True)\n"), "dropout");
  EXPECT_EQ(outline_of("    return torch.relu(torch.dropout(x, 0., True))\n"), "relu");
  EXPECT_EQ(outline_of("    return torch.relu(torch.dropout(x, 2., False))\n"), "dropout relu");
  EXPECT_EQ(outline_of("    return torch.relu(torch.detach(x))\n"), "relu");
  EXPECT_EQ(outline_of("    return torch.detach(x)\n"), "detach");
}

TEST(Fold, PropertiesOfTensors) {
  const std::string float32 = std::to_string(static_cast<int>(DType::kFloat32));
  const std::string ask = "    if torch.eq(ops.prim.dtype(z), " + float32 +
                          "):\n"
                          "      r = torch.relu(z)\n"
                          "    else:\n"
                          "      r = torch.neg(z)\n"
                          "    return r\n";
  EXPECT_EQ(outline_of("    y = torch.conv1d(x, torch.ones([2, 2, 1]))\n"
                       "    z = torch.add(torch.view(y, [-1]), 1)\n" +
                       ask),
            "conv1d view add relu");
  EXPECT_EQ(outline_of("    z = torch.add(x, torch.ones([2]))\n" + ask),
            "add dtype eq If(relu|neg)");
  EXPECT_EQ(outline_of("    a = torch.__is__(x, x)\n"
                       "    b = torch.__not__(ops.prim.is_cuda(x))\n"
                       "    c = torch.__not__(torch.is_grad_enabled())\n"
                       "    return torch.mul(x, torch.add(torch.add(int(a), int(b)), int(c)))\n"),
            "mul");
}

TEST(Fold, TextOfErrorsIsMadeInTheirBranch) {
  EXPECT_EQ(outline_of("    n = torch.size(x, 0)\n"
                       "    text = torch.format(\"{} of {}\", n, torch.mul(n, 2))\n"
                       "    if torch.eq(n, 3):\n"
                       "      ops.prim.RaiseException(text, \"builtins.ValueError\")\n"
                       "    else:\n"
                       "      pass\n"
                       "    return torch.relu(x)\n"),
            "size eq If(mul format RaiseException|) relu");
  // This one may raise by itself.
  EXPECT_EQ(outline_of("    n = torch.size(x, 0)\n"
                       "    text = torch.format(\"{} of {}\", n)\n"
                       "    if torch.eq(n, 3):\n"
                       "      ops.prim.RaiseException(text, \"builtins.ValueError\")\n"
                       "    else:\n"
                       "      pass\n"
                       "    return torch.relu(x)\n"),
            "size format eq If(RaiseException|) relu");
}

TEST(CommonValues, SizesAndArithmeticOnce) {
  EXPECT_EQ(outline_of("    a = torch.add(torch.size(x, 0), 1)\n"
                       "    b = torch.add(torch.size(x, 0), 1)\n"
                       "    c = torch.add(torch.size(x, 1), 1)\n"
                       "    return torch.mul(x, torch.sub(torch.add(a, b), c))\n"),
            "size add size add add sub mul");
  // Not of what is written, and nothing from inside a branch.
  EXPECT_EQ(outline_of("    a = torch.item(x)\n"
                       "    _0 = torch.neg_(x)\n"
                       "    b = torch.item(x)\n"
                       "    return [a, b]\n",
                       "List[number]"),
            "item neg_ item ListConstruct");
  EXPECT_EQ(outline_of("    n = 0\n"
                       "    if torch.is_floating_point(x):\n"
                       "      n = torch.size(x, 0)\n"
                       "    else:\n"
                       "      pass\n"
                       "    return torch.add(n, torch.size(x, 0))\n",
                       "int"),
            "is_floating_point If(size|) size add");
}

TEST(DeadCode, OnlyWhatCannotBeNoticed) {
  EXPECT_EQ(outline_of("    a = torch.dim(x)\n"
                       "    b = torch.size(x)\n"
                       "    c = [x, x]\n"
                       "    d = torch.mul(torch.len(b), 2)\n"
                       "    return torch.relu(x)\n"),
            "relu");
  // These may raise, print, draw random numbers or write.
  EXPECT_EQ(outline_of("    a = torch.size(x, 7)\n"
                       "    print(x)\n"
                       "    b = torch.rand([1])\n"
                       "    _0 = torch.neg_(x)\n"
                       "    return torch.relu(x)\n"),
            "size Print rand neg_ relu");
}

TEST(DeadCode, OutputsOfBlocks) {
  EXPECT_EQ(outline_of("    n = 0\n"
                       "    y = x\n"
                       "    for i in range(torch.size(x, 0)):\n"
                       "      y = torch.relu(y)\n"
                       "      n = torch.add(n, 1)\n"
                       "    if torch.is_floating_point(x):\n"
                       "      n = torch.add(n, 2)\n"
                       "    else:\n"
                       "      pass\n"
                       "    return y\n"),
            "size Loop(relu)");
}

// 40 levels of the same tuple twice, whose type does not tell.
TEST(Fold, TuplesOfTheSameTupleAreWalkedOnce) {
  std::string body = "    _0 = unchecked_cast(Any, (1, 2))\n";
  for (int i = 0; i < 40; ++i) {
    const std::string item = "_" + std::to_string(i);
    body +=
        "    _" + std::to_string(i + 1) + " = unchecked_cast(Any, (" + item + ", " + item + "))\n";
  }
  EXPECT_EQ(outline_of(body + "    if torch.__is__(_40, None):\n"
                              "      y = torch.relu(x)\n"
                              "    else:\n"
                              "      y = torch.neg(x)\n"
                              "    return y\n"),
            "neg");
}

// A list that holds itself, as a program may make while it is loaded.
TEST(Fold, AttributesMayHoldThemselves) {
  Program program(module_class("M", {"l : List[Any]"},
                               "  def forward(self: __torch__.M, x: Tensor) -> int:\n"
                               "    return torch.len(self.l)\n"));
  const Value list = make_list(types::any(), {});
  list.list_ref().items.push_back(list);
  const Value self = program.object("M", {{"l", list}});
  EXPECT_EQ(Program::optimized(self).graph->inputs().size(), 2u);
  list.list_ref().items.clear();
}

// Nested far deeper than a thread's stack is long.
TEST(Fold, AttributesMayBeDeep) {
  Program program(module_class("M", {"l : List[Any]"},
                               "  def forward(self: __torch__.M, x: Tensor) -> int:\n"
                               "    return torch.len(self.l)\n"));
  Value list = make_list(types::any(), {});
  for (int i = 0; i < 300'000; ++i) list = make_list(types::any(), {list});
  const Value self = program.object("M", {{"l", list}});
  EXPECT_EQ(Program::optimized(self).graph->inputs().size(), 2u);
}

TEST(Fold, WhatBothBranchesGive) {
  EXPECT_EQ(outline_of("    if torch.gt(torch.len(torch.size(x)), 2):\n"
                       "      print(1)\n"
                       "      n, m = annotate(Optional[int], None), 3\n"
                       "    else:\n"
                       "      n, m = annotate(Optional[int], None), 4\n"
                       "    if torch.__is__(n, None):\n"
                       "      y = torch.relu(x)\n"
                       "    else:\n"
                       "      y = torch.neg(x)\n"
                       "    return torch.add(y, m)\n"),
            "size len gt If(Print|) relu add");
}

TEST(Fold, CastsStayInFilesWhereTheyTellATypeFirst) {
  Program program(module_class("M", {},
                               "  def forward(self: __torch__.M, n: Optional[int]) -> int:\n"
                               "    if torch.__is__(n, None):\n"
                               "      m = 0\n"
                               "    else:\n"
                               "      m = torch.neg(unchecked_cast(int, n))\n"
                               "    return m\n"));
  const Value object = program.object("M", {});
  EXPECT_EQ(outline(*Program::optimized(object).graph), "__is__ If(|neg)");
  const Request for_file{PassSet::of(kForFiles), true, nullptr};
  EXPECT_EQ(outline(*optimize(Program::method(object), object, {}, for_file).graph),
            "__is__ If(|unchecked_cast neg)");
}

}  // namespace
}  // namespace torchlet::passes
