#include "device/partition.h"

#include <gtest/gtest.h>

#include "passes/testing.h"

namespace torchlet::device {
namespace {

using passes::module_class;
using passes::outline;
using passes::Program;

// Takes what its list names.
class TestDevice : public Device {
 public:
  const char* name() const override { return "test"; }
  std::string refusal(const Node& node) const override {
    for (const char* taken :
         {"aten::relu", "aten::mul", "aten::add", "aten::transpose", "aten::sigmoid", "aten::chunk",
          "aten::cat", "aten::roll", "aten::select"}) {
      if (node.kind().str() == taken) return "";
    }
    return "not on the list";
  }
  Compilation compile(SpecialisedSegment&) override { return {nullptr, "not here"}; }
};

// The module has a tensor, `t`.
std::string partitioned(const std::string& body) {
  Program program(
      module_class("M", {"t : Tensor"}, "  def forward(self: __torch__.M, x: Tensor" + body));
  const auto optimized = Program::optimized(
      program.object("M", {{"t", Value(empty(IntArray{5, 4}, DType::kFloat32))}}));
  const std::shared_ptr<Device> device = std::make_shared<TestDevice>();
  partition(*optimized.graph, {&device, 1}, std::make_shared<PlacementLog>());
  optimized.graph->verify();
  return outline(*optimized.graph);
}

TEST(Partition, ARunBecomesASegment) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    y = torch.relu(x)\n"
                        "    return torch.sigmoid(torch.mul(y, y))\n"),
            "Segment(relu mul sigmoid)");
}

TEST(Partition, OperatorsThatAreNotTakenSeparate) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    y = torch.erfinv(torch.relu(x))\n"
                        "    return torch.sigmoid(y)\n"),
            "Segment(relu) erfinv Segment(sigmoid)");
}

TEST(Partition, ViewsOfWhatComesFromOutsideStayOutside) {
  EXPECT_EQ(partitioned(") -> Tuple[Tensor, Tensor]:\n"
                        "    y = torch.transpose(x, 0, 1)\n"
                        "    return (y, torch.relu(y))\n"),
            "transpose Segment(relu) TupleConstruct");
}

// roll() by nothing gives its argument.
TEST(Partition, WhatMayBeItsArgumentStaysOutside) {
  EXPECT_EQ(partitioned(") -> Tuple[Tensor, Tensor]:\n"
                        "    y = torch.roll(x, [0], [0])\n"
                        "    return (y, torch.relu(y))\n"),
            "ListConstruct ListConstruct roll Segment(relu) TupleConstruct");
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    return torch.roll(torch.relu(x), [0], [0])\n"),
            "Segment(relu ListConstruct ListConstruct roll)");
}

TEST(Partition, AViewMayLeaveIfItsBaseDoesNot) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    return torch.transpose(torch.relu(x), 0, 1)\n"),
            "Segment(relu transpose)");
}

// What sizes pick of a constant is computed when the segment is compiled, whoever computes it.
TEST(Partition, WhatConstantsAndSizesGiveBelongsToTheSegment) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    a = torch.slice(self.t, 0, 0, torch.size(x, 0), 1)\n"
                        "    b = torch.stack([torch.flip(a, [0]), a])\n"
                        "    return torch.mul(torch.relu(x), b)\n"),
            "Segment(size slice flip ListConstruct stack relu mul)");
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    a = torch.slice(torch.relu(x), 0, 0, torch.size(x, 1), 1)\n"
                        "    return torch.mul(torch.flip(a, [0]), self.t)\n"),
            "Segment(relu size) slice flip Segment(mul)");
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    a = torch.zeros([torch.size(x, 0)])\n"
                        "    b = torch.fill_(a, 3)\n"
                        "    return torch.mul(torch.relu(x), torch.flip(a, [0]))\n"),
            "size ListConstruct zeros fill_ Segment(relu) flip Segment(mul)");
}

TEST(Partition, ListsStayInside) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    a, b = torch.chunk(torch.relu(x), 2, 1)\n"
                        "    return torch.cat([b, a], 1)\n"),
            "Segment(relu chunk ListUnpack ListConstruct cat)");
  EXPECT_EQ(partitioned(", y: Tensor) -> Tensor:\n"
                        "    return torch.relu(torch.cat([x, y], 1))\n"),
            "Segment(ListConstruct cat relu)");
  EXPECT_EQ(partitioned(", l: List[Tensor]) -> Tensor:\n"
                        "    return torch.relu(torch.cat(l, 1))\n"),
            "cat Segment(relu)");
}

TEST(Partition, NumbersAreComputedWithTheSegmentOrBeforeIt) {
  EXPECT_EQ(partitioned(", n: int) -> Tensor:\n"
                        "    y = torch.relu(x)\n"
                        "    return torch.mul(y, torch.add(n, 1))\n"),
            "Segment(relu add mul)");
  EXPECT_EQ(partitioned(", n: int) -> Tensor:\n"
                        "    return torch.mul(x, torch.add(n, 1))\n"),
            "add Segment(mul)");
}

TEST(Partition, BranchesOnNumbersBelongToTheSegment) {
  EXPECT_EQ(partitioned(", n: int) -> Tensor:\n"
                        "    y = torch.relu(x)\n"
                        "    if torch.gt(n, 1):\n"
                        "      z = torch.sigmoid(y)\n"
                        "    else:\n"
                        "      ops.prim.RaiseException(\"too small\")\n"
                        "      z = y\n"
                        "    return torch.mul(z, z)\n"),
            "Segment(relu gt If(sigmoid|RaiseException) mul)");
}

// Of torch.nn.functional.interpolate, for each number of dimensions.
TEST(Partition, ABranchThatComputesMayBeginASegment) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    if torch.eq(torch.dim(x), 4):\n"
                        "      z = torch.neg(x)\n"
                        "    else:\n"
                        "      z = torch.exp(x)\n"
                        "    return torch.relu(z)\n"),
            "Segment(dim eq If(neg|exp) relu)");
}

TEST(Partition, WhatHasNoKernelMayStandInABranch) {
  EXPECT_EQ(
      partitioned(") -> Tensor:\n"
                  "    y = torch.relu(x)\n"
                  "    _0 = uninitialized(Tensor)\n"
                  "    if torch.eq(torch.dim(y), 3):\n"
                  "      z = torch.logcumsumexp(y, 0)\n"
                  "    else:\n"
                  "      if torch.eq(torch.dim(y), 2):\n"
                  "        z1 = torch.sigmoid(y)\n"
                  "      else:\n"
                  "        ops.prim.RaiseException(\"dimensions\")\n"
                  "        z1 = _0\n"
                  "      z = z1\n"
                  "    return torch.mul(z, z)\n"),
      "Segment(relu dim eq If(logcumsumexp|Uninitialized eq If(sigmoid|RaiseException)) mul)");
}

TEST(Partition, ListsOfNumbersMayChangeWhereTheyAreMade) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    y = torch.relu(x)\n"
                        "    sizes = annotate(List[int], [])\n"
                        "    for i in range(torch.dim(y)):\n"
                        "      _0 = torch.append(sizes, torch.mul(torch.size(y, i), 2))\n"
                        "    pad = torch.mul([0], torch.dim(y))\n"
                        "    _1 = torch._set_item(pad, 1, 3)\n"
                        "    return torch.mul(torch.roll(y, pad, [0, 1]), sizes[0])\n"),
            "Segment(relu ListConstruct dim Loop(size mul append) mul _set_item roll "
            "__getitem__ mul)");
  // Who gets the list may change it.
  EXPECT_EQ(partitioned(") -> Tuple[Tensor, List[int]]:\n"
                        "    y = torch.relu(x)\n"
                        "    pad = torch.mul([0], torch.dim(y))\n"
                        "    _1 = torch._set_item(pad, 1, 3)\n"
                        "    return (torch.roll(y, pad, [0, 1]), pad)\n"),
            "Segment(relu) ListConstruct dim mul _set_item ListConstruct roll TupleConstruct");
  EXPECT_EQ(partitioned(", sizes: List[int]) -> Tensor:\n"
                        "    y = torch.relu(x)\n"
                        "    _0 = torch.append(sizes, 2)\n"
                        "    return torch.mul(y, sizes[0])\n"),
            "Segment(relu) append __getitem__ Segment(mul)");
}

TEST(Partition, LoopsOfNumbersBelongToTheSegment) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    y = torch.relu(x)\n"
                        "    sizes = torch.size(y)\n"
                        "    count = 1\n"
                        "    for i in range(torch.len(sizes)):\n"
                        "      if torch.gt(sizes[i], 9):\n"
                        "        ops.prim.RaiseException(\"too large\")\n"
                        "      count = torch.mul(count, sizes[i])\n"
                        "    return torch.mul(y, count)\n"),
            "Segment(relu size len Loop(__getitem__ gt If(RaiseException|) mul) mul)");
  // What only looks at the tensor before the first that computes stays before it.
  EXPECT_EQ(partitioned(", n: int) -> Tensor:\n"
                        "    count = 1\n"
                        "    for i in range(n):\n"
                        "      count = torch.mul(count, 2)\n"
                        "    return torch.mul(x, count)\n"),
            "Loop(mul) Segment(mul)");
}

TEST(Partition, ItemsOfListsStayInside) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    parts = torch.chunk(torch.relu(x), 2, 1)\n"
                        "    return torch.cat([torch.sigmoid(parts[1]), parts[0]], 1)\n"),
            "Segment(relu chunk __getitem__ sigmoid __getitem__ ListConstruct cat)");
  EXPECT_EQ(partitioned(
                ") -> Tensor:\n"
                "    parts = torch.chunk(torch.relu(x), 3, 1)\n"
                "    return torch.sigmoid(torch.cat(torch.add(torch.slice(parts, 1), [x]), 1))\n"),
            "Segment(relu chunk slice ListConstruct add cat sigmoid)");
  // A list leaves with what it holds, which may be no copy.
  EXPECT_EQ(partitioned(") -> List[Tensor]:\n"
                        "    return torch.slice([torch.relu(x), x], 1)\n"),
            "Segment(relu) ListConstruct slice");
  // A piece of what somebody else may write to.
  EXPECT_EQ(partitioned(") -> Tuple[Tensor, Tensor]:\n"
                        "    parts = torch.chunk(torch.relu(x), 2, 1)\n"
                        "    return (parts[0], torch.sigmoid(parts[1]))\n"),
            "Segment(relu) chunk __getitem__ __getitem__ Segment(sigmoid) TupleConstruct");
}

TEST(Partition, WhatABranchComputesIsASegmentWhereTheBranchIsNone) {
  EXPECT_EQ(partitioned(", n: int) -> Tensor:\n"
                        "    if torch.gt(n, 1):\n"
                        "      z = torch.relu(x)\n"
                        "    else:\n"
                        "      z = torch.sigmoid(x)\n"
                        "    return torch.transpose(z, 0, 1)\n"),
            "gt If(Segment(relu)|Segment(sigmoid)) transpose");
}

// The branch that only looks may be taken, and then the view that leaves is one of the input.
TEST(Partition, ViewsOfWhatABranchTakesFromOutsideStayOutside) {
  EXPECT_EQ(partitioned(", n: int) -> Tensor:\n"
                        "    y = torch.relu(x)\n"
                        "    if torch.gt(n, 1):\n"
                        "      z = torch.transpose(x, 0, 1)\n"
                        "    else:\n"
                        "      z = torch.sigmoid(y)\n"
                        "    return torch.transpose(z, 0, 1)\n"),
            "Segment(relu) gt If(transpose|Segment(sigmoid)) transpose");
}

TEST(Partition, BlocksOfLoopsHaveSegmentsOfTheirOwn) {
  EXPECT_EQ(partitioned(", n: int) -> Tensor:\n"
                        "    y = x\n"
                        "    for i in range(n):\n"
                        "      y = torch.relu(torch.mul(y, y))\n"
                        "    return y\n"),
            "Loop(Segment(mul relu))");
}

TEST(Partition, WritesEndASegment) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    y = torch.relu(x)\n"
                        "    z = torch.add_(x, 1)\n"
                        "    return torch.mul(y, x)\n"),
            "Segment(relu) add_ Segment(mul)");
}

// What a size tensor is computed from is asked once for each node, however often it is used.
TEST(Partition, SizesComputedFromThemselvesOverAndOver) {
  std::string body = ") -> Tensor:\n    a = ops.prim.NumToTensor(torch.size(x, 0))\n";
  for (int i = 0; i < 60; ++i) body += "    a = torch.mul(a, a)\n";
  const std::string made = partitioned(body + "    return torch.mul(torch.relu(x), a)\n");
  EXPECT_EQ(made.substr(0, 29), "Segment(size NumToTensor mul ") << made;
}

// A segment knows no number that is taken from a tensor of another one.
TEST(Partition, NumbersOfTensorsFromOutsideAreTakenBefore) {
  const std::string body =
      ") -> Tensor:\n"
      "    y = torch.relu(x)\n"
      "    a = torch.mul(ops.prim.NumToTensor(torch.size(y, 0)), 2)\n"
      "    z = torch.relu(torch.neg(y))\n";
  EXPECT_EQ(partitioned(body + "    return torch.add(z, 1, alpha=int(torch.mul(a, 3)))\n"),
            "Segment(relu size NumToTensor mul) neg mul Int Segment(relu add)");
  EXPECT_EQ(partitioned(body + "    b = torch.mul(a, ops.prim.NumToTensor(torch.size(z, 1)))\n"
                               "    return torch.add(z, 1, alpha=int(b))\n"),
            "Segment(relu size NumToTensor mul) neg Segment(relu size) NumToTensor mul Int "
            "Segment(add)");
}

TEST(Partition, PlacesThatALoopTellsAreTakenBefore) {
  EXPECT_EQ(partitioned(") -> Tensor:\n"
                        "    h = torch.relu(x)\n"
                        "    for t in range(torch.size(x, 1)):\n"
                        "      before = torch.relu(h)\n"
                        "      now = torch.select(torch.transpose(x, 0, 1), 1, torch.add(t, 1))\n"
                        "      h = torch.sigmoid(torch.add(now, torch.transpose(before, 0, 1)))\n"
                        "    return h\n"),
            "Segment(relu size) Loop(transpose add select Segment(relu transpose add sigmoid))");
  // A size is what it is as long as the shapes are.
  EXPECT_EQ(partitioned(", y: Tensor, n: int) -> Tensor:\n"
                        "    part = torch.select(x, 0, torch.size(y, 0))\n"
                        "    other = torch.select(x, 0, n)\n"
                        "    return torch.mul(torch.relu(part), other)\n"),
            "select Segment(size select relu mul)");
}

TEST(Partition, AChainOfViewsIsFollowedWithoutRecursion) {
  std::string body = ") -> Tensor:\n    y = torch.relu(x)\n";
  for (int i = 0; i < 8'000; ++i) body += "    y = torch.transpose(y, 0, 1)\n";
  EXPECT_EQ(partitioned(body + "    return torch.relu(y)\n").substr(0, 13), "Segment(relu ");
}

// Planning takes time by the square of a segment's length.
TEST(Partition, LongRunsAreCut) {
  std::string body = ") -> Tensor:\n    y = x\n";
  for (int i = 0; i < 5'000; ++i) body += "    y = torch.relu(y)\n";
  const std::string made = partitioned(body + "    return y\n");
  size_t segments = 0;
  for (size_t at = made.find("Segment"); at != std::string::npos;
       at = made.find("Segment", at + 1)) {
    ++segments;
  }
  EXPECT_EQ(segments, 3u);
}

}  // namespace
}  // namespace torchlet::device
