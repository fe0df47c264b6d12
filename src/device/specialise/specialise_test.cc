#include <gtest/gtest.h>

#include "device/specialise/testing.h"

namespace torchlet::device {
namespace {

TEST(Specialise, NumbersBranchesAndListsAreGone) {
  const Specialised s(
      ") -> Tensor:\n"
      "    y = torch.relu(x)\n"
      "    n = torch.size(y, 1)\n"
      "    if torch.gt(n, 2):\n"
      "      z = torch.sigmoid(y)\n"
      "    else:\n"
      "      z = torch.tanh(y)\n"
      "    a, b = torch.split(z, [1, torch.sub(n, 1)], 1)\n"
      "    return torch.cat([b, torch.mul(a, n)], 1)\n",
      {ops::ramp({2, 5})});
  EXPECT_EQ(text(s.run()),
            "relu(%0) sigmoid(%1) split(%2 [1, 4] 1) mul(%3 5) cat([%4 %5] 1) -> %6");
}

TEST(Specialise, LoopsOfNumbersAndItemsAreGone) {
  const Specialised s(
      ") -> Tensor:\n"
      "    y = torch.relu(x)\n"
      "    sizes = torch.size(y)\n"
      "    count = 1\n"
      "    for i in range(torch.len(sizes)):\n"
      "      for k in range(i):\n"
      "        count = torch.add(count, k)\n"
      "      count = torch.mul(count, sizes[i])\n"
      "    parts = torch.split(y, [1, 4], 1)\n"
      "    return torch.mul(torch.add(parts[-1], parts[0]), count)\n",
      {ops::ramp({2, 5})});
  EXPECT_EQ(text(s.run()), "relu(%0) split(%1 [1, 4] 1) add(%3 %2 1) mul(%4 10) -> %5");
  const Specialised beyond(
      ") -> Tensor:\n"
      "    parts = torch.split(torch.relu(x), [1, 4], 1)\n"
      "    return torch.relu(parts[2])\n",
      {ops::ramp({2, 5})});
  EXPECT_EQ(beyond.refusal(), "list index out of range");
  const Specialised endless(
      ") -> Tensor:\n"
      "    y = torch.relu(x)\n"
      "    count = torch.size(y, 0)\n"
      "    for i in range(1000000):\n"
      "      count = torch.add(count, 1)\n"
      "    return torch.mul(y, count)\n",
      {ops::ramp({2, 5})});
  EXPECT_EQ(endless.refusal(), "a long loop");
}

TEST(Specialise, PicksItemsOfLists) {
  const Specialised s(
      ") -> Tensor:\n"
      "    a, b = torch.relu(x), torch.neg(x)\n"
      "    parts = torch.add([a, b, self.w], torch.slice([x, b], 1))\n"  // a b w b
      "    last = torch.list(torch.slice(parts, None, None, -2))\n"      // b b
      "    weights = torch.slice(parts, -2, -1)\n"
      "    return torch.add(torch.mul(last[0], parts[0]), torch.neg(weights[0]))\n",
      {ops::ramp({4, 3})});
  EXPECT_EQ(text(s.run()), "relu(%0) neg(%0) mul(%2 %1) add(%3 tensor 1) -> %4");
  const Specialised longer(
      ") -> Tensor:\n"
      "    parts = [torch.relu(x)]\n"
      "    parts1 = torch.add(parts, parts)\n"
      "    parts2 = torch.add(parts1, parts1)\n"
      "    return torch.relu(parts2[torch.size(x, 0)])\n",
      {ops::ramp({3, 3})});
  EXPECT_EQ(text(longer.run()), "relu(%0) relu(%1) -> %2");
}

TEST(Specialise, ChangesListsOfNumbers) {
  const Specialised s(
      ") -> Tensor:\n"
      "    y = torch.relu(x)\n"
      "    _0 = uninitialized(Tensor)\n"
      "    sizes = annotate(List[int], [])\n"
      "    for i in range(torch.dim(y)):\n"
      "      _1 = torch.append(sizes, torch.mul(torch.size(y, i), 2))\n"
      "    padded = torch.constant_pad_nd(y, sizes, 1)\n"
      "    _2 = torch._set_item(sizes, -1, 0)\n"
      "    if torch.eq(torch.len(sizes), 2):\n"
      "      z = torch.constant_pad_nd(padded, sizes, 1)\n"
      "    else:\n"
      "      ops.prim.RaiseException(\"dimensions\")\n"
      "      z = _0\n"
      "    return torch.neg(z)\n",
      {ops::ramp({2, 5})});
  EXPECT_EQ(text(s.run()),
            "relu(%0) constant_pad_nd(%1 [4, 10] 1) constant_pad_nd(%2 [4, 0] 1) neg(%3) -> %4");
}

// Values that a loop reads in each of its turns are freed when it has ended.
TEST(Specialise, TheReferenceRunsLoopsOfNumbers) {
  const Specialised s(
      ") -> Tensor:\n"
      "    y = torch.relu(x)\n"
      "    sizes = torch.size(y)\n"
      "    count = 1\n"
      "    for i in range(torch.len(sizes)):\n"
      "      if torch.gt(sizes[i], 9):\n"
      "        ops.prim.RaiseException(\"too large\")\n"
      "      count = torch.mul(count, torch.add(sizes[i], torch.size(y, i)))\n"
      "    q = ops.quantized.relu6(torch.quantize_per_tensor(y, 0.5, 3, 13), False)\n"
      "    return torch.mul(torch.dequantize(q), count)\n",
      {ops::ramp({2, 3})});
  SpecialisedSegment segment = s.run();
  EXPECT_EQ(text(segment.calls.back().arguments[1]), "24");
  EXPECT_EQ(segment.describe(segment.calls.back().outputs[0].id()).sizes, (IntArray{2, 3}));
  EXPECT_TRUE(segment.was_recorded());
}

TEST(Specialise, TensorsKnowWhoGivesAndWhoReadsThem) {
  const Specialised s(
      ") -> Tensor:\n"
      "    y = torch.relu(x)\n"
      "    return torch.add(torch.mul(y, y), torch.sigmoid(y))\n",
      {ops::ramp({2, 5})});
  const SpecialisedSegment segment = s.run();
  ASSERT_EQ(text(segment), "relu(%0) mul(%1 %1) sigmoid(%1) add(%2 %3 1) -> %4");
  EXPECT_EQ(segment.tensors[0].producer, -1);
  EXPECT_EQ(segment.tensors[1].producer, 0);
  EXPECT_EQ(segment.tensors[1].users, (std::vector<int>{1, 1, 2}));
  EXPECT_EQ(segment.tensors[4].users, (std::vector<int>{4}));  // leaves
}

TEST(Specialise, MetaTensorsDescribeWhatTheyCan) {
  const Specialised s(
      ") -> Tensor:\n"
      "    y = torch.linear(x, self.w, None)\n"
      "    z = torch.softmax(torch.transpose(y, 0, 1), -1)\n"
      "    return torch.cat([z, z], 0)\n",
      {ops::ramp({2, 3})});
  SpecialisedSegment segment = s.run();
  const TensorDescription& transposed = segment.describe(2);
  EXPECT_EQ(transposed.sizes, (IntArray{4, 2}));
  EXPECT_EQ(transposed.strides, (IntArray{1, 4}));
  const TensorDescription& joined = segment.describe(4);
  EXPECT_EQ(joined.sizes, (IntArray{8, 2}));
  EXPECT_EQ(joined.dtype, DType::kFloat32);
  EXPECT_FALSE(segment.was_recorded());
}

TEST(Specialise, TheReferenceDescribesTheRest) {
  const Specialised s(
      ") -> Tensor:\n"
      "    q = torch.quantize_per_tensor(torch.linear(x, self.w, None), 0.5, 3, 13)\n"
      "    return torch.dequantize(ops.quantized.relu6(q, False))\n",
      {ops::ramp({2, 3})});
  SpecialisedSegment segment = s.run();
  ASSERT_EQ(segment.calls.size(), 4u);
  for (const Call& call : segment.calls) {
    const bool is_real = &call == &segment.calls.front() || &call == &segment.calls.back();
    const TensorDescription& described = segment.describe(call.outputs[0].id());
    EXPECT_EQ(described.dtype, is_real ? DType::kFloat32 : DType::kQUInt8);
    EXPECT_EQ(described.sizes, (IntArray{2, 4}));
  }
  EXPECT_TRUE(segment.was_recorded());
}

TEST(Specialise, LargeTensorsMadeOfNumbersAreNotKept) {
  const std::string body =
      ") -> Tensor:\n"
      "    y = torch.ones([torch.size(x, 0), 3])\n"
      "    return torch.add(torch.relu(x), y)\n";
  const Specialised small(body, {ops::ramp({10, 3})});
  EXPECT_EQ(text(small.run()), "relu(%0) add(%1 tensor 1) -> %2");
  const Specialised large(body, {ops::ramp({100'000, 3})});
  SpecialisedSegment segment = large.run();
  EXPECT_EQ(text(segment), "ones([100000, 3] None None None None) relu(%0) add(%2 %1 1) -> %3");
  EXPECT_EQ(segment.describe(1).sizes, (IntArray{100'000, 3}));
  EXPECT_FALSE(segment.was_recorded());
}

// As biases of positions in long texts are: all is known, and nothing on meta.
TEST(Specialise, LargeTensorsMadeOfTensorsAreTold) {
  const Specialised s(
      ") -> Tensor:\n"
      "    places = torch.repeat(torch.to(torch.mul(self.w, 0), 3), [25000, 1])\n"
      "    return torch.add(torch.relu(x), torch.embedding(self.w, places))\n",
      {ops::ramp({100'000, 3, 3})});
  SpecialisedSegment segment = s.run();
  EXPECT_EQ(text(segment), "relu(%0) embedding(tensor tensor -1 False False) add(%1 %2 1) -> %3");
  const TensorDescription* sum = segment.description_on_meta(3);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->sizes, (IntArray{100'000, 3, 3}));
  EXPECT_EQ(segment.describe(2).sizes, (IntArray{100'000, 3, 3}));
  EXPECT_FALSE(segment.was_recorded());
}

TEST(Specialise, WhatRaisesIsARefusal) {
  const Specialised s(
      ") -> Tensor:\n"
      "    y = torch.linear(torch.relu(x), self.w, None)\n"
      "    return torch.reshape(y, [torch.size(y, 7), -1])\n",
      {ops::ramp({2, 3})});
  EXPECT_NE(s.refusal().find("Dimension out of range"), std::string::npos) << s.refusal();
}

}  // namespace
}  // namespace torchlet::device
