// Plans against the reference: the same programs through both, and which kernels ran.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "device/cpu/testing.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

TEST(Plan, AValueWithTwoReadersIsNotFused) {
  Case c({{"w", random_tensor({4, 4, 1, 1})}},
         "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    return torch.mul(torch.relu(y), y)\n");
  const Tensor x = random_tensor({1, 4, 5, 5}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 activation_rows_f32 binary_rows_f32");
}

TEST(Plan, StepsThatCallTheReferenceSayWhy) {
  Case c({{"w", random_tensor({4, 2, 3, 3, 3})}},
         "    y = torch._convolution(x, self.w, None, [1, 1, 1], [3, 1, 1], [1, 1, 1], False, "
         "[0, 0, 0], 1, False, False, True, True)\n"
         "    return torch.relu(y)\n");
  const Tensor volume = random_tensor({1, 2, 4, 5, 6});
  EXPECT_EQ(c.kernels({volume}), "aten::_convolution activation_rows_f32");
  c.check({volume});
  EXPECT_EQ(c.by_reference(), "aten::_convolution: an unusual window; ");
  Case image({{"w", random_tensor({4, 2, 3, 3})}},
             "    return torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 1)\n");
  image.check({random_tensor({1, 2, 5, 6})});
  EXPECT_EQ(image.by_reference(), "");
}

TEST(Plan, OneCallOfTheReferenceIsNoneIfItGivesMuch) {
  const std::string body = "    return torch.add(x, x)\n";
  Case small({}, body), large({}, body);
  small.check({random_tensor({8191}, -9, 9).to(DType::kInt64)}, 0);
  EXPECT_TRUE(small.ran_as_plan());
  large.check({random_tensor({8192}, -9, 9).to(DType::kInt64)}, 0);
  EXPECT_FALSE(large.ran_as_plan());
}

TEST(Plan, ResultsLieAsTheProgramHasThem) {
  Case c({}, "    return torch.ceil(torch.relu(x))\n");
  const Tensor x = ops::permute(random_tensor({3, 4, 5}), IntArray{2, 0, 1});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "activation_rows_f32 unary_rows_f32");
  EXPECT_EQ(IntArray(c.planned({x}).to_tensor().strides()), IntArray(x.strides()));
}

TEST(Plan, AResidualIsAddedThroughViews) {
  const std::string product = "    y = torch.linear(x, self.w, None)\n";
  const Tensor x = random_tensor({4, 8});
  Case same(
      {{"w", random_tensor({4, 8})}, {"r", random_tensor({1, 4, 4})}},
      product + "    return torch.add(torch.transpose(torch.view(y, [4, 1, 4]), 0, 1), self.r)\n");
  same.check({x});
  EXPECT_EQ(same.kernels({x}), "conv_nhwc_f32");
  Case turned({{"w", random_tensor({4, 8})}, {"r", random_tensor({4, 4})}},
              product + "    return torch.add(torch.t(y), self.r)\n");
  turned.check({x});
  Case shared({{"w", random_tensor({4, 8})}, {"r", random_tensor({1, 4, 4})}},
              product +
                  "    v = torch.view(y, [1, 4, 4])\n"
                  "    return torch.mul(torch.add(v, self.r), torch.unsqueeze(y, 0))\n");
  shared.check({x});
}

// Transposed, it cannot be flattened without a copy, so the addition does not reach it.
TEST(Plan, WhatIsViewedOutsideLiesAsInTheProgram) {
  Case c({},
         "    y = torch.transpose(torch.sigmoid(x), 0, 1)\n"
         "    z = torch.flatten(y, 0)\n"
         "    _0 = torch.add_(z, 1)\n"
         "    return torch.add(torch.flatten(torch.relu(y), 0), z)\n");
  c.check({random_tensor({3, 4})});
  Case part({},
            "    y = torch.slice(torch.sigmoid(x), 1, 1, 3)\n"
            "    z = torch.flatten(y, 0)\n"
            "    _0 = torch.mul_(z, z)\n"
            "    return torch.add(torch.flatten(torch.relu(y), 0), z)\n");
  part.check({random_tensor({3, 4})});
  Case stack({},  // what the stack is made of decides how it lies
             "    y = torch.add(torch.linear(x, torch.ones([4, 4])), x)\n"
             "    z = torch.stack([y, x], 1)\n"
             "    a, b, c, d = torch.unbind(z, -1)\n"
             "    return torch.view(b, [2, 2, 15])\n");
  stack.check({random_tensor({2, 3, 5, 4}).contiguous(MemoryFormat::kChannelsLast)});
  Case loop({},
            "    y = x\n"
            "    for _ in range(3):\n"
            "      y = torch.permute(torch.neg(y), [1, 0, 2, 3])\n"
            "    return torch.view(y, [3, 27, 1])\n");
  loop.check({random_tensor({3, 3, 9, 1}).contiguous(MemoryFormat::kChannelsLast)});
}

TEST(Plan, WhatHasNoKernelRunsItsReference) {
  Case c({}, "    return torch.relu(torch.roll(torch.relu(x), [2], []))\n");
  const Tensor x = random_tensor({3, 4});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "activation_rows_f32 aten::roll activation_rows_f32");
  Case other({}, "    return torch.mul(torch.add(x, x), 2)\n");
  other.check({random_tensor({3, 4}).to(DType::kFloat64)}, 0);
  other.check({random_tensor({3, 4}, -9, 9).to(DType::kInt32)}, 0);
}

TEST(Plan, ShapesBeyondTheCacheFallBackToTheInterpreter) {
  Case c({}, "    return torch.relu(torch.add(x, 1))\n");
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 1; n < 100; ++n) c.check({random_tensor({n, 3})}, 0);
  }
}

TEST(Plan, ErrorsComeFromTheProgram) {
  Case c({{"w", random_tensor({5, 6})}}, "    return torch.relu(torch.linear(x, self.w))\n");
  for (int run = 0; run < 2; ++run) {
    EXPECT_THROW(c.planned({random_tensor({2, 7})}), Error);
    c.check({random_tensor({2, 6})});
  }
}

TEST(Plan, EmptyTensorsAndNan) {
  Case c({}, "    return torch.relu(torch.mul(x, x))\n");
  c.check({random_tensor({0, 3})});
  const Tensor x = random_tensor({4});
  x.data_ptr<float>()[2] = std::nanf("");
  c.check({x});
  EXPECT_TRUE(std::isnan(c.planned({x}).to_tensor().data_ptr<float>()[2]));
}

TEST(Plan, ThreadsShareOne) {
  Case c({{"w", random_tensor({8, 8, 3, 3})}},
         "    y = torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.relu(torch.add(y, x))\n");
  std::vector<Tensor> inputs, wants;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(random_tensor({1, 8, 8 + i % 2, 8}));
    wants.push_back(c.reference({inputs.back()}).to_tensor());
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 50; ++run) {
        SCOPED_TRACE(testing::Message() << "thread " << i << ", run " << run);
        Case::expect_near(c.planned({inputs[i]}).to_tensor(), wants[i], 1e-5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace torchlet::cpu
