// Functions of elements and numbers in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/testing.h"
#include "kernels/half/float16.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

TEST(LowerElementwise, NumbersAreCutToIntegersByAKernel) {
  Case c({}, "    return torch.trunc(torch.mul(x, 10))\n");
  const Tensor x = random_tensor({3, 37});
  c.check({x}, 0);
  EXPECT_EQ(c.kernels({x}), "affine_rows_f32 unary_rows_f32");
}

TEST(LowerElementwise, ProgramsRoundToFloat16ByAKernel) {
  Case c({{"w", random_tensor({4, 3, 1, 1})}},
         "    y = torch.to(torch.to(x, 5), 6)\n"
         "    y = torch.conv2d(y, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    return torch.to(y, 5)\n");
  const Tensor x = random_tensor({2, 3, 5, 7}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  if (!kernels::has_float16()) GTEST_SKIP() << "this processor has no float16 arithmetic";
  EXPECT_EQ(c.kernels({x}), "convert convert conv_nhwc_f32 convert");
  EXPECT_EQ(c.planned({x}).to_tensor().dtype(), DType::kFloat16);
}

TEST(LowerElementwise, ATensorOfATensorIsTheSame) {
  Case c({}, "    return torch.relu(torch.as_tensor(torch.neg(x)))\n");
  const Tensor x = random_tensor({3, 37});
  c.check({x}, 0);
  EXPECT_EQ(c.kernels({x}), "unary_rows_f32 activation_rows_f32");
}

TEST(LowerElementwise, PreluIsAFunctionOfChannels) {
  Case c({{"w", random_tensor({6, 4, 1, 1})}, {"s", random_tensor({6})}},
         "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    return torch.prelu(y, self.s)\n");
  const Tensor x = random_tensor({2, 4, 5, 5}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 binary_rows_f32");
  Case one({{"w", random_tensor({6, 4, 1, 1})}, {"s", random_tensor({1})}},
           "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
           "    return torch.prelu(y, self.s)\n");
  one.check({x});
  EXPECT_EQ(one.kernels({x}), "conv_nhwc_f32");
  Case rows({{"s", random_tensor({7})}}, "    return torch.prelu(x, self.s)\n");
  rows.check({random_tensor({3, 7})});
  EXPECT_EQ(rows.kernels({random_tensor({3, 7})}), "binary_rows_f32");
  Case planes({{"s", random_tensor({3})}}, "    return torch.prelu(x, self.s)\n");
  for (const IntArray& sizes : {IntArray{2, 3, 4, 5, 6}, IntArray{2, 3, 5, 7}, IntArray{2, 3, 4}}) {
    planes.check({random_tensor(sizes)});
    EXPECT_EQ(planes.kernels({random_tensor(sizes)}), "binary_rows_f32");
  }
}

TEST(LowerElementwise, OneNumberForEachPlane) {
  Case c({}, "    return torch.sub(x, z)\n", "x: Tensor, z: Tensor");
  for (const IntArray& sizes :
       {IntArray{2, 3, 1, 1}, IntArray{3, 1, 1}, IntArray{2, 1, 1, 1}, IntArray{2, 3, 4, 1},
        IntArray{2, 1, 4, 1}, IntArray{2, 3, 1, 5}, IntArray{2, 3, 4, 5}}) {
    c.check({random_tensor({2, 3, 4, 5}), random_tensor(sizes)});
  }
  EXPECT_EQ(c.kernels({random_tensor({2, 3, 4, 5}), random_tensor({2, 3, 1, 1})}),
            "binary_rows_f32");
  c.check({random_tensor({3, 0, 4}), random_tensor({3, 0, 1})});
}

TEST(LowerElementwise, WhatIsAddedIsScaled) {
  const Tensor x = random_tensor({2, 3, 4}), y = random_tensor({3, 1}),
               z = random_tensor({4}, 1, 2);
  const auto check = [&](const std::string& call, const std::string& kernels) {
    Case c({{"y", y}, {"z", z}}, "    return torch." + call + "\n");
    c.check({x});
    EXPECT_EQ(c.kernels({x}), kernels) << call;
  };
  check("add(x, torch.mul(x, self.z), alpha=0.3)",
        "binary_rows_f32 affine_rows_f32 binary_rows_f32");
  check("sub(x, torch.mul(x, self.z), alpha=-2)",
        "binary_rows_f32 affine_rows_f32 binary_rows_f32");
  check("addcmul(x, x, self.z)", "binary_rows_f32 binary_rows_f32");
  check("addcmul(self.z, self.y, x, value=0.5)",
        "broadcast_rows_f32 affine_rows_f32 binary_rows_f32");
  check("addcdiv(x, x, self.z, value=-3)", "binary_rows_f32 affine_rows_f32 binary_rows_f32");
}

// How the result lies is told by the operator on tensors without memory, next to a number that has.
TEST(LowerElementwise, NumbersOfOtherTypes) {
  for (const DType dtype : {DType::kFloat64, DType::kInt64, DType::kBool}) {
    Case c({{"w", ops::full({}, 1, dtype)}}, "    return torch.mul(x, self.w)\n");
    const Tensor x = random_tensor({2, 3, 4, 5});
    c.check({x});
    EXPECT_EQ(c.kernels({x}), "affine_rows_f32");
  }
}

TEST(LowerElementwise, PowersAreProductsAndRoots) {
  const Tensor x = random_tensor({3, 7, 5});
  for (float& value : std::span(x.data_ptr<float>(), 105)) value = std::abs(value) + 0.1f;
  for (const auto& [exponent, kernels] :
       {std::pair("2", "unary_rows_f32"), std::pair("0.5", "unary_rows_f32"),
        std::pair("-0.5", "unary_rows_f32"), std::pair("-1", "unary_rows_f32"),
        std::pair("3.", "unary_rows_f32"), std::pair("1.5", "aten::pow")}) {
    SCOPED_TRACE(exponent);
    Case c({}, "    return torch.pow(x, " + std::string(exponent) + ")\n");
    c.check({x});
    EXPECT_EQ(c.kernels({x}), kernels);
  }
}

TEST(LowerElementwise, NumbersThatAreTensorsAreNumbers) {
  const Tensor x = random_tensor({2, 3, 4});
  for (const char* body :
       {"torch.mul(x, self.n)", "torch.mul(self.n, x)", "torch.sub(self.n, x)",
        "torch.sub(x, self.n, alpha=2)", "torch.div(self.n, x)", "torch.div(x, self.n)"}) {
    for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kInt64}) {
      SCOPED_TRACE(testing::Message() << body << " " << dtype_name(dtype));
      Case c({{"n", ops::full({}, Scalar(3), dtype)}}, "    return " + std::string(body) + "\n");
      c.check({x});
      EXPECT_EQ(c.by_reference(), "");
    }
  }
  // Of two of them the wider dtype wins.
  Case both({{"n", ops::full({}, Scalar(3), DType::kFloat64)}},
            "    return torch.mul(torch.sigmoid(x), self.n)\n");
  both.check({ops::full({}, Scalar(2), DType::kFloat32)});
}

TEST(LowerElementwise, NumbersInArithmetic) {
  Case c({}, "    return torch.rsub(torch.mul(torch.sub(torch.add(x, 2, alpha=3), n), n), 1)\n",
         "x: Tensor, n: float");
  c.check({random_tensor({3, 4}), Value(2.5)});
  c.check({random_tensor({3, 4}), Value(-1.0)});
}

TEST(LowerElementwise, ClampBetweenTensors) {
  const Tensor x = random_tensor({3, 4}), low = random_tensor({3, 1}), high = random_tensor({4});
  Case above({}, "    return torch.clamp(x, low)\n", "x: Tensor, low: Tensor");
  above.check({x, low});
  EXPECT_EQ(above.kernels({x, low}), "binary_rows_f32");
  Case below({}, "    return torch.clamp(x, None, high)\n", "x: Tensor, high: Tensor");
  below.check({x, high});
  EXPECT_EQ(below.kernels({x, high}), "binary_rows_f32");
  Case between({}, "    return torch.clamp(x, low, high)\n",
               "x: Tensor, low: Tensor, high: Tensor");
  between.check({x, low, high});
  EXPECT_EQ(between.kernels({x, low, high}), "binary_rows_f32 binary_rows_f32");
}

// Arguments that look like those that a kernel or a view takes, and mean something else.
TEST(LowerElementwise, OverloadsOfOtherKinds) {
  const std::vector<std::pair<std::string, Tensor>> weights = {{"w", random_tensor({4})},
                                                               {"one", random_tensor({1, 1, 1})}};
  const Tensor x = random_tensor({3, 4}), y = random_tensor({3, 1});
  for (const char* expression :
       {"torch.rsub(z, x)", "torch.rsub(x, z)", "torch.expand_as(self.w, torch.relu(x))",
        "torch.narrow(z, 0, n, 2)", "torch.clamp(z, self.one)", "torch.clamp_min(z, self.one)"}) {
    Case c(
        weights,
        "    z = torch.relu(y)\n    z = " + std::string(expression) + "\n    return torch.abs(z)\n",
        "x: Tensor, y: Tensor, n: Tensor");
    SCOPED_TRACE(expression);
    c.check({x, y, Value(ops::full({}, Scalar(int64_t{1}), DType::kInt64))});
  }
}

}  // namespace
}  // namespace torchlet::cpu
