#include "device/specialise/resize_last.h"

#include <gtest/gtest.h>

#include "device/cpu/testing.h"

namespace torchlet::device {
namespace {

using cpu::Case;
using cpu::random_tensor;

// Of x [2, 96, 5, 4], y [2, 24, 10, 8] and z [2, 96, 3, 2].
const std::string kImages =
    "    x = torch.slice(torch.slice(torch.slice(all, 1, 0, 96), 2, 0, 5), 3, 0, 4)\n"
    "    y = torch.slice(all, 1, 96, 120)\n"
    "    z = torch.slice(torch.slice(torch.slice(all, 1, 120, 216), 2, 0, 3), 3, 0, 2)\n";

void expect_layers(const std::string& body, const std::string& layers) {
  SCOPED_TRACE(body);
  static const std::vector<std::pair<std::string, Tensor>> weights = {
      {"w", random_tensor({40, 120, 1, 1})},     {"b", random_tensor({40})},
      {"v", random_tensor({16, 120, 1, 1})},     {"all", random_tensor({40, 216, 1, 1})},
      {"twice", random_tensor({40, 144, 1, 1})}, {"wide", random_tensor({40, 120, 3, 3})},
      {"halves", random_tensor({40, 60, 1, 1})}, {"many", random_tensor({200, 120, 1, 1})},
      {"flat", random_tensor({40, 96, 1, 1})},
  };
  const std::vector<Value> inputs = {random_tensor({2, 216, 10, 8})};
  Case model(weights, kImages + body, "all: Tensor");
  model.check(inputs);
  EXPECT_TRUE(model.ran_as_plan());
  EXPECT_EQ(model.by_reference(), "");
  cpu::PackedWeights packed;
  std::string why;
  const auto plan = model.plan(inputs, packed, why);
  ASSERT_TRUE(plan) << why;
  EXPECT_EQ(cpu::layer_sizes(*plan), layers);
}

const std::string kLarge = "    large = torch.upsample_bilinear2d(x, [10, 8], False)\n";
const std::string kJoined = "    joined = torch.cat([large, y], 1)\n";

TEST(ResizeLast, OfEnlargedImages) {
  const std::string conv = "    return torch.relu(torch.conv2d(joined, self.w, self.b))\n";
  for (const char* large : {
           "torch.upsample_bilinear2d(x, [10, 8], False)",
           "torch.upsample_bilinear2d(x, [10, 8], True)",
           "torch.upsample_bilinear2d(x, None, False, [2., 2.])",
           "torch.upsample_nearest2d(x, [10, 8])",
           "torch._upsample_nearest_exact2d(x, [10, 8])",
       }) {
    expect_layers("    large = " + std::string(large) + "\n" + kJoined + conv,
                  "2x40x5x4 2x40x10x8");
  }
  expect_layers(kLarge + "    joined = torch.cat([y, large], -3)\n" +
                    "    return torch.conv2d(joined, torch.cat([self.w, self.w], 0), None)\n",
                "2x80x5x4 2x80x10x8");
  expect_layers(kLarge + kJoined +
                    "    return torch._convolution(joined, self.w, self.b, [1, 1], [0, 0], [1, 1], "
                    "False, [0, 0], 1, False, False, True, True)\n",
                "2x40x5x4 2x40x10x8");
}

TEST(ResizeLast, OfSeveral) {
  const std::string larger = "    larger = torch.upsample_nearest2d(z, [10, 8])\n";
  const std::string conv = "    return torch.conv2d(joined, self.all, self.b)\n";
  for (const char* order : {"[larger, large, y]", "[y, large, larger]", "[large, y, larger]"}) {
    const bool is_larger_first = order[1] == 'l' && order[6] == 'r';
    expect_layers(kLarge + larger + "    joined = torch.cat(" + order + ", 1)\n" + conv,
                  is_larger_first ? "2x40x3x2 2x40x5x4 2x40x10x8" : "2x40x5x4 2x40x3x2 2x40x10x8");
  }
  // Those that stay are joined.
  expect_layers(kLarge + "    joined = torch.cat([large, y, torch.neg(y)], 1)\n" +
                    "    return torch.conv2d(joined, self.twice, self.b)\n",
                "2x40x5x4 2x40x10x8");
  // Two layers read them.
  expect_layers(kLarge + kJoined +
                    "    a = torch.conv2d(joined, self.w, self.b)\n"
                    "    return torch.cat([a, torch.conv2d(joined, self.v)], 1)\n",
                "2x40x5x4 2x40x10x8 2x16x5x4 2x16x10x8");
}

TEST(ResizeLast, OthersStay) {
  const std::string conv = "    return torch.conv2d(joined, self.w, self.b)\n";
  // Windows, steps and groups.
  expect_layers(kLarge + kJoined + "    return torch.conv2d(joined, self.wide, self.b)\n",
                "2x40x8x6");
  expect_layers(kLarge + kJoined + "    return torch.conv2d(joined, self.w, self.b, [2, 2])\n",
                "2x40x5x4");
  expect_layers(
      kLarge + kJoined + "    return torch.conv2d(joined, self.w, self.b, [1, 1], [1, 1])\n",
      "2x40x12x10");
  expect_layers(kLarge + kJoined +
                    "    return torch.conv2d(joined, self.halves, self.b, [1, 1], [0, 0], [1, 1], "
                    "2)\n",
                "2x40x10x8");
  // Something else reads them.
  expect_layers(kLarge + kJoined +
                    "    return torch.cat([torch.conv2d(joined, self.w, self.b), joined], 1)\n",
                "2x40x10x8");
  expect_layers(
      kLarge + kJoined + "    return torch.cat([torch.conv2d(joined, self.w, self.b), large], 1)\n",
      "2x40x10x8");
  // Nothing, or what is not side by side, would stay.
  expect_layers(kLarge + "    return torch.conv2d(torch.cat([large], 1), self.flat, self.b)\n",
                "2x40x10x8");
  expect_layers(kLarge + "    joined = torch.cat([y, large, torch.neg(y)], 1)\n" +
                    "    return torch.conv2d(joined, self.twice, self.b)\n",
                "2x40x10x8");
  // Few channels, few more pixels, and more to enlarge than before.
  expect_layers(
      "    few = torch.upsample_nearest2d(torch.slice(x, 1, 0, 48), [10, 8])\n"
      "    rest = torch.upsample_nearest2d(torch.slice(x, 1, 48, 96), [10, 8])\n"
      "    joined = torch.cat([few, rest, y], 1)\n" +
          conv,
      "2x40x10x8");
  expect_layers(
      "    large = torch.upsample_nearest2d(x, [6, 5])\n"
      "    joined = torch.cat([large, torch.slice(torch.slice(y, 2, 0, 6), 3, 0, 5)], "
      "1)\n" +
          conv,
      "2x40x6x5");
  expect_layers(kLarge + kJoined + "    return torch.conv2d(joined, self.many)\n", "2x200x10x8");
  // Joined along another dimension.
  expect_layers(kLarge + "    joined = torch.cat([large, torch.neg(large)], 2)\n" +
                    "    return torch.conv2d(joined, self.flat, self.b)\n",
                "2x40x20x8");
}

TEST(ResizeLast, ToTheSameSizeIsNoStep) {
  for (const char* same : {"torch.upsample_bilinear2d(x, [5, 4], False)",
                           "torch.upsample_nearest2d(x, None, [1., 1.])"}) {
    SCOPED_TRACE(same);
    Case model({}, "    return torch.neg(" + std::string(same) + ")\n");
    const Tensor x = random_tensor({1, 3, 5, 4});
    model.check({x});
    cpu::PackedWeights packed;
    std::string why;
    const auto plan = model.plan({x}, packed, why);
    ASSERT_TRUE(plan) << why;
    EXPECT_EQ(plan->steps.size(), 1u);
  }
  Case line({}, "    return torch.neg(torch.upsample_linear1d(x, [5], True))\n");
  line.check({random_tensor({1, 3, 5})});
  // Other points are looked at.
  Case model({}, "    return torch.upsample_bilinear2d(x, [5, 4], False, 1.1, 1.2)\n");
  model.check({random_tensor({1, 3, 5, 4})});
}

}  // namespace
}  // namespace torchlet::device
