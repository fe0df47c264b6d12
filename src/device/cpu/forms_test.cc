// Images and rows, and what steps take over from those after them: whatever the dimensions look
// like, and whoever else reads the memory.
#include <gtest/gtest.h>

#include "device/cpu/testing.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

PlanTensor laid_out(IntArray sizes, IntArray strides) {
  PlanTensor tensor;
  tensor.sizes = std::move(sizes);
  tensor.strides = std::move(strides);
  return tensor;
}

Tensor channels_last(const Tensor& tensor) {
  return tensor.contiguous(MemoryFormat::kChannelsLast);
}

TEST(Forms, ATensorOfOneChannelIsAnImageAndRows) {
  const PlanTensor tensor = laid_out({2, 1, 3, 4}, {12, 12, 4, 1});
  EXPECT_EQ(matrix_layout(tensor, Form::kImage), (MatrixLayout{24, 1, 1}));
  EXPECT_EQ(matrix_layout(tensor, Form::kRows), (MatrixLayout{6, 4, 4}));
  EXPECT_EQ(matrix_layout(tensor, Form::kFixed), std::nullopt);
  EXPECT_EQ(matrix_layout(laid_out({2, 0, 3, 4}, {12, 12, 4, 1}), Form::kImage), std::nullopt);
}

TEST(Forms, WhatMovesKeepsItsForm) {
  const PlanTensor rows = laid_out({1, 2, 3, 4}, {24, 12, 4, 1});
  const PlanTensor image = laid_out({1, 2, 3, 4}, {60, 1, 20, 5});
  const PlanTensor wide = laid_out({1, 2, 3, 4}, {60, 30, 10, 1});
  EXPECT_FALSE(may_lie_as(rows, image, Form::kRows));
  EXPECT_TRUE(may_lie_as(rows, wide, Form::kRows));
  EXPECT_FALSE(may_lie_as(rows, wide, Form::kFixed));
  EXPECT_TRUE(may_lie_as(rows, rows, Form::kFixed));
  EXPECT_FALSE(may_lie_as(image, wide, Form::kImage));
  EXPECT_TRUE(may_lie_as(image, wide, Form::kStrided));
}

TEST(Forms, RowsAreNotPlacedAsImages) {
  for (const int dim : {1, 2, 3}) {
    Case join({{"u", random_tensor({5, 3, 1, 1})}, {"w", random_tensor({4, 4})}},
              "    a = torch.conv2d(x, self.u, None, [1, 1], [0, 0], [1, 1], 1)\n"
              "    b = torch.linear(a, self.w, None)\n"
              "    return torch.cat([a, b, torch.linear(b, self.w, None)], " +
                  std::to_string(dim) + ")\n");
    for (const Tensor& x : {random_tensor({2, 3, 4, 4}), random_tensor({1, 3, 1, 4})}) {
      join.check({x});
      join.check({channels_last(x)});
    }
  }
}

TEST(Forms, RowsAreJoinedInPlaceAlongTheirColumns) {
  Case c(
      {{"u", random_tensor({5, 4})}, {"w", random_tensor({3, 4})}},
      "    return torch.cat([torch.linear(x, self.u, None), torch.linear(x, self.w, None)], -1)\n");
  for (const Tensor& x : {random_tensor({2, 3, 4}), random_tensor({2, 2, 3, 4})}) {
    c.check({x});
    EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 conv_nhwc_f32");
  }
}

TEST(Forms, RowsOfOneChannelAreAddedAsRows) {
  Case c({{"w", random_tensor({6, 5})}, {"b", random_tensor({6})}},
         "    return torch.add(z, torch.linear(x, self.w, self.b))\n", "x: Tensor, z: Tensor");
  for (const int64_t channels : {1, 2}) {
    const Tensor x = random_tensor({2, channels, 4, 5}), z = random_tensor({2, channels, 4, 6});
    c.check({x, z});
    EXPECT_EQ(c.kernels({x, z}), "conv_nhwc_f32");
    c.check({x, channels_last(z)});
    // Rows that lie apart.
    c.check({x, ops::slice(random_tensor({2, channels, 4, 12}), 3, 0, 6, 1)});
  }
}

// A convolution that reads an NCHW image counts on its strides.
TEST(Forms, AnImageThatIsReadAsNchwStays) {
  Case c({{"w", random_tensor({4, 4})}, {"u", random_tensor({5, 3, 3, 3})}},
         "    y = torch.linear(x, self.w, None)\n"
         "    z = torch.conv2d(y, self.u, None, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.cat([z, y], 1)\n");
  c.check({random_tensor({1, 3, 4, 4})});
}

TEST(Forms, AValueThatABranchPassesOnHasBothReaders) {
  Case c({{"w", random_tensor({4, 4, 1, 1})}},
         "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    if torch.gt(n, 1):\n"
         "      z = torch.tanh(y)\n"
         "    else:\n"
         "      z = y\n"
         "    return torch.mul(torch.sigmoid(z), y)\n",
         "x: Tensor, n: int");
  const Tensor x = channels_last(random_tensor({1, 4, 5, 5}));
  for (const int64_t n : {1, 2}) c.check({x, Value(n)});
}

// Parts of a concatenation's pixels do not follow it when it grows.
TEST(Forms, ConcatenationsWithSlicesOfTheirPixels) {
  const std::string joined =
      "    y = torch.cat([torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1),\n"
      "      torch.conv2d(x, self.b, None, [1, 1], [0, 0], [1, 1], 1)], 1)\n";
  const auto flat_mean = [](const std::string& image) {
    return "torch.flatten(torch.adaptive_avg_pool2d(" + image + ", [1, 1]))";
  };
  const std::string result =
      "    return torch.cat([" + flat_mean("u") + ", " + flat_mean("v") + "])\n";
  const std::vector<std::pair<std::string, Tensor>> weights = {{"a", random_tensor({4, 4, 1, 1})},
                                                               {"b", random_tensor({3, 4, 1, 1})},
                                                               {"c", random_tensor({2, 7, 1, 1})}};
  const char* const conv = "    v = torch.conv2d(v, self.c, None, [1, 1], [0, 0], [1, 1], 1)\n";
  Case rows(weights, joined + "    v = torch.slice(y, 2, 1)\n" + conv +
                         "    u = torch.cat([y, torch.sigmoid(x)], 1)\n" + result);
  rows.check({channels_last(random_tensor({1, 4, 5, 6}))});
  Case pictures(weights,
                joined +
                    "    u = torch.cat([torch.slice(y, 0, 0, 1), torch.slice(x, 0, 0, 1)], "
                    "1)\n    v = y\n" +
                    conv + result);
  pictures.check({channels_last(random_tensor({2, 4, 5, 6}))});
}

// Blocks that would pay, but for what lies between their layers.
TEST(Forms, InvertedResidualsNeedWholeImages) {
  for (const char* between :
       {"torch.slice(y, 2, 1)", "torch.slice(y, 1, 32)", "torch.reshape(y, [1, 96, 40, 160])"}) {
    const int64_t channels = std::string(between) == "torch.slice(y, 1, 32)" ? 64 : 96;
    Case c({{"a", random_tensor({96, 1, 3, 3})}, {"b", random_tensor({16, channels, 1, 1})}},
           "    y = torch.conv2d(x, self.a, None, [1, 1], [1, 1], [1, 1], 96)\n"
           "    return torch.conv2d(" +
               std::string(between) + ", self.b, None, [1, 1], [0, 0], [1, 1], 1)\n");
    const Tensor x = channels_last(random_tensor({1, 96, 80, 80}));
    c.check({x});
    EXPECT_EQ(c.kernels({x}).find("inverted_residual"), std::string::npos) << between;
  }
}

}  // namespace
}  // namespace torchlet::cpu
