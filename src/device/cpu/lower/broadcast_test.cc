// Operands of other sizes in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "device/cpu/testing.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

TEST(LowerBroadcast, GatesAndOuterProducts) {
  const auto permuted = [](const Tensor& t) { return ops::permute(t, IntArray{0, 2, 3, 1}); };
  for (const char* dim : {"0", "1", "-1"}) {
    Case gated({}, std::string("    return torch.glu(x, ") + dim + ")\n");
    for (const Tensor& x :
         {random_tensor({2, 6, 4}), random_tensor({4, 4, 3, 6}), random_tensor({6, 2, 4190}),
          random_tensor({2800, 6}), permuted(random_tensor({2, 6, 4, 10})),
          permuted(random_tensor({2, 2, 18, 10}))}) {
      gated.check({x});
      EXPECT_EQ(gated.kernels({x}), "glu_rows_f32") << x.describe() << " dim " << dim;
    }
    const Tensor part = ops::narrow(random_tensor({4, 4, 3, 7}), 3, 1, 6);
    gated.check({part});
    EXPECT_TRUE(gated.kernels({part}).ends_with("glu_rows_f32")) << dim;
  }
  Case outer({}, "    return torch.outer(x, y)\n", "x: Tensor, y: Tensor");
  const Tensor a = random_tensor({5}), b = random_tensor({19});
  outer.check({a, b});
  EXPECT_EQ(outer.kernels({a, b}), "broadcast_rows_f32");
}

TEST(LowerBroadcast, OperandsAreSpreadOverEachOther) {
  const auto permuted = [](const Tensor& t) { return ops::permute(t, IntArray{1, 0, 2, 3}); };
  for (const auto& [a, b] :
       {std::pair(random_tensor({3, 4, 5, 7}), random_tensor({4, 5, 7})),  // a bias of attention
        std::pair(random_tensor({2, 3, 4, 5, 5}), random_tensor({3, 1, 5, 5})),  // and a mask
        std::pair(random_tensor({3, 1, 5, 6}), random_tensor({2, 1, 6})),
        std::pair(random_tensor({6, 1}), random_tensor({1, 9})),
        std::pair(random_tensor({1, 4, 1, 3}), random_tensor({2, 1, 3, 1})),
        std::pair(permuted(random_tensor({4, 2, 3, 5})), random_tensor({1, 4, 3, 1})),
        std::pair(ops::transpose(random_tensor({2, 7, 3}), 1, 2), random_tensor({3, 7})),
        std::pair(random_tensor({64, 1, 33}), random_tensor({70, 1}))}) {
    for (const char* op : {"add", "sub", "mul", "div", "maximum"}) {
      SCOPED_TRACE(op);
      Case c({}, "    return torch.relu(torch." + std::string(op) + "(x, y))\n",
             "x: Tensor, y: Tensor");
      c.check({a, b});
      c.check({b, a});
      // What is permuted is copied when it leaves.
      EXPECT_NE(c.kernels({a, b}).find("broadcast_rows_f32"), std::string::npos);
    }
  }
}

TEST(LowerBroadcast, DimensionsOfOneThatAreMissingChangeNothing) {
  Case c({}, "    return torch.add(x, y)\n", "x: Tensor, y: Tensor");
  const Tensor whole = random_tensor({1, 6, 4, 5}), part = random_tensor({6, 4, 5});
  const auto permuted = [](const Tensor& t) { return ops::transpose(t, -1, -3); };
  for (const auto& [a, b] : {std::pair(whole, part), std::pair(permuted(whole), permuted(part))}) {
    c.check({a, b});
    c.check({b, a});
    EXPECT_TRUE(c.kernels({a, b}).starts_with("binary_rows_f32")) << c.kernels({a, b});
  }
}

// The images of a volume of one channel have other channels.
TEST(LowerBroadcast, AnImageIsSpreadOverAVolume) {
  Case c({}, "    return torch.add(x, y)\n", "x: Tensor, y: Tensor");
  const Tensor image = random_tensor({1, 4, 4, 3}).contiguous(MemoryFormat::kChannelsLast);
  c.check({random_tensor({1, 1, 4, 4, 3}), image});
  EXPECT_EQ(c.kernels({random_tensor({1, 1, 4, 4, 3}), image}), "copy_strided binary_rows_f32");
}

// The gate of ECA-Net: what is expanded before it is multiplied is not copied.
TEST(LowerBroadcast, ExpandedOperandsAreSpread) {
  const Tensor x = random_tensor({2, 8, 5, 3}).contiguous(MemoryFormat::kChannelsLast);
  const Tensor gate = random_tensor({2, 8, 1, 1}), row = random_tensor({3});
  for (const char* product :
       {"torch.mul(x, torch.expand_as(g, x))", "torch.mul(torch.expand_as(g, x), x)"}) {
    Case c({}, "    return " + std::string(product) + "\n", "x: Tensor, g: Tensor");
    c.check({x, gate});
    EXPECT_EQ(c.kernels({gate, x}), "binary_rows_f32");  // in the order of use
    c.check({x, row});
  }
  Case both({}, "    return torch.sub(torch.expand(x, [2, 4, 3]), torch.expand(g, [2, 4, 3]))\n",
            "x: Tensor, g: Tensor");
  both.check({random_tensor({4, 1}), random_tensor({2, 1, 1})});
  both.check({random_tensor({1, 3}), random_tensor({3})});
}

TEST(LowerBroadcast, SqueezeAndExciteScalesChannels) {
  Case c({{"a", random_tensor({2, 6, 1, 1})}, {"b", random_tensor({6, 2, 1, 1})}},
         "    s = torch.adaptive_avg_pool2d(x, [1, 1])\n"
         "    s = torch.relu(torch.conv2d(s, self.a, None, [1, 1], [0, 0], [1, 1], 1))\n"
         "    s = torch.hardsigmoid(torch.conv2d(s, self.b, None, [1, 1], [0, 0], [1, 1], 1))\n"
         "    return torch.mul(s, x)\n");
  c.check({random_tensor({2, 6, 5, 4})});
}

TEST(LowerBroadcast, ArithmeticBroadcasts) {
  for (const IntArray& other :
       {IntArray{2, 6, 4, 5}, IntArray{6, 1, 1}, IntArray{2, 6, 1, 1}, IntArray{2, 1, 4, 5},
        IntArray{5}, IntArray{1}, IntArray{}, IntArray{4, 1}}) {
    for (const char* op : {"add", "sub", "rsub", "mul", "div"}) {
      Case c({}, "    return torch." + std::string(op) + "(x, y)\n", "x: Tensor, y: Tensor");
      const Tensor x = random_tensor({2, 6, 4, 5}), y = random_tensor(other, 1, 2);
      c.check({x, y});
      c.check({y, x});
      c.check({x.contiguous(MemoryFormat::kChannelsLast), y});
    }
  }
}

}  // namespace
}  // namespace torchlet::cpu
