#include "device/specialise/needed_rows.h"

#include <gtest/gtest.h>

#include "device/cpu/testing.h"
#include "device/specialise/testing.h"

namespace torchlet::device {
namespace {

using cpu::Case;
using cpu::random_tensor;

// What is left to do for an input of [2, 6, 3].
std::string left_of(const std::string& body) {
  const Specialised s(") -> Tensor:\n" + body, {ops::ramp({2, 6, 3})});
  SpecialisedSegment segment = s.run();
  compute_needed_rows(segment);
  return text(segment);
}

TEST(NeededRows, OfOneTokenOnly) {
  // The square weight is the transpose's product with itself: [3, 3].
  EXPECT_EQ(left_of("    w = torch.matmul(torch.transpose(self.w, 0, 1), self.w)\n"
                    "    y = torch.add(torch.relu(torch.linear(x, w)), x)\n"
                    "    return torch.select(torch.slice(torch.neg(y), 0, 0, 9), 1, -2)\n"),
            "slice(%0 1 4 5 1) linear(%7 tensor None) relu(%1) add(%2 %7 1) neg(%3) "
            "slice(%4 0 0 9 1) select(%5 1 0) -> %6");
}

TEST(NeededRows, OthersStay) {
  const std::string linear =
      "    w = torch.matmul(torch.transpose(self.w, 0, 1), self.w)\n    y = torch.linear(x, w)\n";
  for (const std::string& rest : {
           // More than half of them, every other one, and what else is read.
           std::string("    return torch.slice(y, 1, 0, 4)\n"),
           std::string("    return torch.slice(y, 1, 0, 9, 2)\n"),
           std::string("    return torch.add(torch.select(y, 1, 0), torch.sum(y))\n"),
           std::string(
               "    return torch.add(torch.select(y, 1, 0), torch.sum(torch.select(y, 0, 0)))\n"),
           // Each place depends on all.
           std::string("    return torch.select(torch.softmax(y, 1), 1, 0)\n"),
           std::string("    return torch.select(torch.layer_norm(y, [6, 3]), 1, 0)\n"),
           std::string("    return torch.select(torch.cumsum(y, 1), 1, 0)\n"),
           std::string("    return torch.select(y, 2, 0)\n"),
           std::string("    return torch.select(torch.reshape(y, [4, 9]), 0, 0)\n"),
       }) {
    const std::string left = left_of(linear + rest);
    EXPECT_EQ(left.find("linear(%0 tensor None)"), 0u) << rest << left;
  }
  // No product gets smaller.
  EXPECT_EQ(left_of("    return torch.select(torch.relu(x), 1, 0)\n"),
            "relu(%0) select(%1 1 0) -> %2");
}

// Also through the plan, where results have to be those of the whole.
TEST(NeededRows, SameNumbers) {
  const std::string block =
      "    q, k, v = torch.chunk(torch.linear(x, self.w), 3, -1)\n"
      "    q = torch.permute(torch.reshape(q, [2, 6, 2, 4]), [0, 2, 1, 3])\n"
      "    k = torch.permute(torch.reshape(k, [2, 6, 2, 4]), [0, 2, 3, 1])\n"
      "    v = torch.transpose(torch.view(torch.contiguous(v), [2, 6, 2, 4]), 1, 2)\n"
      "    p = torch.softmax(torch.add(torch.mul(torch.matmul(q, k), 0.5), self.mask), -1)\n"
      "    a = torch.reshape(torch.transpose(torch.matmul(p, v), 1, 2), [2, 6, 8])\n"
      "    x = torch.add(x, torch.linear(torch.add(a, self.position), self.u))\n"
      "    y = torch.layer_norm(x, [8])\n"
      "    x = torch.add(x, torch.linear(torch.gelu(torch.linear(y, self.w)), self.z))\n";
  const std::vector<std::pair<std::string, Tensor>> weights = {
      {"w", random_tensor({24, 8})},       {"u", random_tensor({8, 8})},
      {"z", random_tensor({8, 24})},       {"mask", random_tensor({6, 6})},
      {"position", random_tensor({6, 8})},
  };
  const struct {
    const char* rest;
    const char* sizes;  // of the last layer's result
  } kRows[] = {
      {"    return torch.linear(torch.select(x, 1, 0), self.u)\n", "2x1x8"},
      {"    return torch.slice(x, 1, 2, 5)\n", "2x3x8"},
      {"    return torch.add(torch.select(x, 1, 1), torch.select(x, 1, 3))\n", "2x3x8"},
      {"    return torch.select(torch.slice(x, 1, 4), 1, -1)\n", "2x2x8"},
      {"    return torch.select(x, 0, 1)\n", "1x6x8"},
      {"    return torch.reshape(torch.slice(x, 1, -2), [4, 8])\n", "2x2x8"},
  };
  const Tensor x = random_tensor({2, 6, 8});
  for (const auto& [rest, sizes] : kRows) {
    SCOPED_TRACE(rest);
    Case model(weights, block + rest);
    model.check({x});
    EXPECT_TRUE(model.ran_as_plan());
    EXPECT_EQ(model.by_reference(), "");
    cpu::PackedWeights packed;
    std::string why;
    const auto plan = model.plan({x}, packed, why);
    ASSERT_TRUE(plan) << why;
    const std::string layers = cpu::layer_sizes(*plan);
    EXPECT_NE(layers.find(sizes), std::string::npos) << layers;
    EXPECT_EQ(layers.find("2x6x24 "), 0u) << layers;  // keys and values are of all
  }
}

}  // namespace
}  // namespace torchlet::device
