// Quantized programs through the plan and as they were written: the same integers.
#include <gtest/gtest.h>

#include "device/cpu/testing.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

void check_exactly(Case& c, const Tensor& x) {
  const Tensor want = c.reference({x}).to_tensor();
  for (int run = 0; run < 2; ++run) {
    const Tensor got = c.planned({x}).to_tensor();
    ASSERT_EQ(IntArray(got.sizes()), IntArray(want.sizes()));
    const Tensor a = got.contiguous(), b = want.contiguous();
    for (int64_t i = 0; i < b.numel(); ++i) {
      ASSERT_EQ(a.data_ptr<float>()[i], b.data_ptr<float>()[i]) << "element " << i;
    }
  }
}

// x is float; the result is made float again.
Case quantized(std::vector<std::pair<std::string, Tensor>> weights, const std::string& body) {
  return Case(std::move(weights), "    q = torch.quantize_per_tensor(x, 0.02, 120, 13)\n" + body +
                                      "    return torch.dequantize(y)\n");
}

// Statements that name packed weights `p`.
std::string packed_conv(int groups, const char* padding = "[1, 1]", const char* stride = "[1, 1]") {
  return "    w = torch.quantize_per_tensor(self.w, 0.011, 0, 12)\n"
         "    p = ops.quantized.conv2d_prepack(w, self.b, " +
         std::string(stride) + ", " + padding + ", [1, 1], " + std::to_string(groups) + ")\n";
}

TEST(QuantizedPlan, Convolutions) {
  Case c = quantized({{"w", random_tensor({12, 8, 3, 3})}, {"b", random_tensor({12})}},
                     packed_conv(1) + "    y = ops.quantized.conv2d_relu(q, p, 0.1, 30)\n");
  const Tensor x = random_tensor({2, 8, 9, 7}, -3, 3);
  check_exactly(c, x.contiguous(MemoryFormat::kChannelsLast));
  EXPECT_EQ(c.kernels({x.contiguous(MemoryFormat::kChannelsLast)}),
            "quantize_rows_q8 conv_nhwc_q8 dequantize_rows_q8");
  check_exactly(c, x);

  Case depthwise = quantized(
      {{"w", random_tensor({8, 1, 3, 3})}, {"b", random_tensor({8})}},
      packed_conv(8, "[1, 1]", "[2, 1]") + "    y = ops.quantized.conv2d(q, p, 0.1, 99)\n");
  check_exactly(depthwise, x);
  EXPECT_NE(depthwise.kernels({x}).find("dwconv_nhwc_q8"), std::string::npos);

  Case grouped =
      quantized({{"w", random_tensor({6, 4, 1, 3})}, {"b", random_tensor({6})}},
                packed_conv(2, "[0, 2]") + "    y = ops.quantized.conv2d(q, p, 0.1, 0)\n");
  check_exactly(grouped, x);
}

TEST(QuantizedPlan, ClampsArePartOfTheStepBefore) {
  const Tensor x = random_tensor({2, 8, 9, 7}, -3, 3).contiguous(MemoryFormat::kChannelsLast);
  Case c = quantized({{"w", random_tensor({8, 8, 3, 3})}, {"b", random_tensor({8})}},
                     packed_conv(1) +
                         "    y = torch.hardtanh(ops.quantized.conv2d(q, p, 0.1, 30), -1.0, 1.5)\n"
                         "    y = torch.relu(ops.quantized.add(y, q, 0.05, 77))\n"
                         "    y = torch.clamp(ops.quantized.mul(y, y, 0.05, 77), None, 0.3)\n");
  check_exactly(c, x);
  EXPECT_EQ(c.kernels({x}),
            "quantize_rows_q8 conv_nhwc_q8 add_rows_q8 binary_rows_q8 dequantize_rows_q8");
  // A clamp of which nothing but one number is left.
  Case apart = quantized({{"w", random_tensor({8, 8, 3, 3})}, {"b", random_tensor({8})}},
                         packed_conv(1) +
                             "    y = torch.relu(ops.quantized.conv2d(q, p, 0.1, 30))\n"
                             "    y = torch.clamp(y, -2.0, -1.0)\n");
  check_exactly(apart, x);
}

TEST(QuantizedPlan, ArithmeticWithOneNumberIsATable) {
  const Tensor x = random_tensor({2, 8, 9, 7}, -3, 3).contiguous(MemoryFormat::kChannelsLast);
  for (const char* call :
       {"ops.quantized.add(q, n, 0.03, 90)", "ops.quantized.add_relu(n, q, 0.03, 9)",
        "ops.quantized.mul(n, q, 0.01, 128)", "ops.quantized.mul_relu(q, n, 0.01, 0)"}) {
    SCOPED_TRACE(call);
    Case c = quantized({{"n", random_tensor({1, 1}, 0.5f, 1)}},
                       "    n = torch.quantize_per_tensor(self.n, 0.01, 3, 13)\n    y = " +
                           std::string(call) + "\n");
    check_exactly(c, x);
    EXPECT_EQ(c.kernels({x}), "quantize_rows_q8 map_rows_q8 dequantize_rows_q8");
  }
}

// Zeros around an image are padding of the convolution, wherever they are.
TEST(QuantizedPlan, ZerosBeforeConvolutions) {
  const Tensor x = random_tensor({2, 8, 9, 7}, -3, 3).contiguous(MemoryFormat::kChannelsLast);
  for (const int groups : {1, 8}) {
    Case c = quantized({{"w", random_tensor({8, 8 / groups, 3, 3})}, {"b", random_tensor({8})}},
                       packed_conv(groups, "[0, 0]", "[2, 2]") +
                           "    q = torch.constant_pad_nd(q, [0, 1, 2, 3], 0)\n"
                           "    y = ops.quantized.conv2d(q, p, 0.1, 99)\n");
    check_exactly(c, x);
    EXPECT_EQ(c.kernels({x}), std::string("quantize_rows_q8 ") + (groups > 1 ? "dw" : "") +
                                  "conv_nhwc_q8 dequantize_rows_q8");
  }
  Case ones = quantized({{"w", random_tensor({8, 8, 3, 3})}, {"b", random_tensor({8})}},
                        packed_conv(1) +
                            "    q = torch.constant_pad_nd(q, [0, 1, 2, 3], 1.0)\n"
                            "    y = ops.quantized.conv2d(q, p, 0.1, 99)\n");
  check_exactly(ones, x);
  EXPECT_EQ(ones.kernels({x}), "quantize_rows_q8 pad_nhwc conv_nhwc_q8 dequantize_rows_q8");
}

TEST(QuantizedPlan, LinearLayersOfAnyRank) {
  for (const char* name : {"linear", "linear_relu"}) {
    Case c = quantized({{"w", random_tensor({9, 10})}, {"b", random_tensor({9})}},
                       "    w = torch.quantize_per_channel(self.w, torch.tensor([0.01, 0.02, 0.01, "
                       "0.03, 0.01, 0.5, 0.01, 0.01, 0.007]), torch.tensor([0, 0, 3, 0, -128, 127, "
                       "0, 0, 1]), 0, 12)\n"
                       "    p = ops.quantized.linear_prepack(w, self.b)\n"
                       "    y = ops.quantized." +
                           std::string(name) + "(q, p, 0.05, 128)\n");
    check_exactly(c, random_tensor({10}, -3, 3));
    check_exactly(c, random_tensor({3, 10}, -3, 3));
    check_exactly(c, random_tensor({2, 20, 10}, -3, 3));
    EXPECT_EQ(c.kernels({random_tensor({3, 10})}),
              "quantize_rows_q8 conv_nhwc_q8 dequantize_rows_q8");
  }
}

TEST(QuantizedPlan, DynamicLinearLayers) {
  for (const char* name : {"linear_dynamic", "linear_relu_dynamic"}) {
    for (const int64_t zero : {0, 3}) {
      Case c({{"w", random_tensor({37, 70})}, {"b", random_tensor({37})}},
             "    w = torch.quantize_per_tensor(self.w, 0.011, " + std::to_string(zero) +
                 ", 12)\n"
                 "    p = ops.quantized.linear_prepack(w, self.b)\n"
                 "    return ops.quantized." +
                 name + "(x, p, True)\n");
      for (const IntArray& sizes : {IntArray{70}, {1, 70}, {5, 70}, {2, 20, 70}}) {
        check_exactly(c, random_tensor(sizes, -3, 2));
      }
      check_exactly(c, random_tensor({3, 70}, 1e-7f, 2e-7f));
      EXPECT_EQ(c.kernels({random_tensor({3, 70})}), "linear_dynamic_q8");
      const Tensor columns = ops::transpose(random_tensor({70, 4}), 0, 1);
      check_exactly(c, columns);
    }
  }
  Case channels({{"w", random_tensor({3, 8})}},
                "    w = torch.quantize_per_channel(self.w, torch.tensor([0.01, 0.02, 0.005]), "
                "torch.tensor([0, 0, 0]), 0, 12)\n"
                "    p = ops.quantized.linear_prepack(w, None)\n"
                "    return torch.relu(ops.quantized.linear_dynamic(x, p, False))\n");
  check_exactly(channels, random_tensor({3, 8}));
  EXPECT_EQ(channels.kernels({random_tensor({3, 8})}), "linear_dynamic_q8");
}

TEST(QuantizedPlan, DynamicLinearLayersOfHalfFloats) {
  Case c({{"w", random_tensor({9, 10})}, {"b", random_tensor({9})}},
         "    p = ops.quantized.linear_prepack_fp16(self.w, self.b)\n"
         "    y = ops.quantized.linear_relu_dynamic_fp16(x, p)\n"
         "    return torch.add(ops.quantized.linear_dynamic_fp16(x, p), y)\n");
  c.check({random_tensor({4, 10})});
  EXPECT_EQ(c.kernels({random_tensor({4, 10})}), "conv_nhwc_f32 conv_nhwc_f32");
}

TEST(QuantizedPlan, SumsProductsAndConcatenations) {
  const Tensor x = random_tensor({2, 6, 5, 4}, -3, 3);
  Case add = quantized({},
                       "    r = torch.quantize_per_tensor(x, 0.03, 3, 13)\n"
                       "    u = ops.quantized.add(q, r, 0.04, 90)\n"
                       "    y = ops.quantized.add_relu(u, q, 0.05, 100)\n");
  check_exactly(add, x);
  EXPECT_NE(add.kernels({x}).find("add_rows_q8 add_rows_q8"), std::string::npos);
  Case far = quantized({}, "    y = ops.quantized.add(q, q, 90.0, 90)\n");
  check_exactly(far, x);
  EXPECT_NE(far.kernels({x}).find("binary_rows_q8"), std::string::npos);

  Case gate =
      quantized({},
                "    s = torch.sigmoid(torch.slice(torch.slice(q, 2, 0, 1, 1), 3, 0, 1, 1))\n"
                "    u = ops.quantized.mul(s, q, 0.02, 128)\n"
                "    y = ops.quantized.mul_relu(u, u, 0.05, 2)\n");
  for (const auto format : {MemoryFormat::kContiguous, MemoryFormat::kChannelsLast}) {
    check_exactly(gate, x.contiguous(format));
  }
  EXPECT_NE(gate.kernels({x}).find("binary_rows_q8"), std::string::npos);

  Case cat = quantized({},
                       "    r = torch.quantize_per_tensor(x, 0.05, 60, 13)\n"
                       "    u = ops.quantized.cat([q, r, q], 1, 0.02, 120)\n"
                       "    y = ops.quantized.cat_relu([u, r], 1, None, None)\n");
  check_exactly(cat, x.contiguous(MemoryFormat::kChannelsLast));
}

TEST(QuantizedPlan, FunctionsOfOneElementAreTables) {
  const Tensor x = random_tensor({1, 6, 5, 4}, -3, 3);
  for (const char* call :
       {"torch.relu(q)", "torch.clamp(q, -0.5, 1.0)", "torch.hardtanh(q, -1.0, 1.5)",
        "torch.sigmoid(q)", "torch.tanh(q)", "torch.hardsigmoid(q)", "torch.leaky_relu(q, 0.1)",
        "ops.quantized.hardswish(q, 0.03, 20)", "ops.quantized.leaky_relu(q, 0.1, False, 0.03, 9)",
        "ops.quantized.mul_scalar(q, -0.7)", "ops.quantized.add_scalar(q, 0.7)"}) {
    SCOPED_TRACE(call);
    Case c = quantized({}, "    y = " + std::string(call) + "\n");
    check_exactly(c, x);
    EXPECT_NE(c.kernels({x}).find("map_rows_q8"), std::string::npos);
  }
}

TEST(QuantizedPlan, Pooling) {
  const Tensor x = random_tensor({2, 6, 9, 7}, -3, 3);
  Case max = quantized({}, "    y = torch.max_pool2d(q, [3, 3], [2, 2], [1, 1], [1, 1], True)\n");
  check_exactly(max, x);
  EXPECT_NE(max.kernels({x}).find("max_pool_nhwc_q8"), std::string::npos);
  for (const char* call :
       {"torch.adaptive_avg_pool2d(q, [1, 1])", "torch.adaptive_avg_pool2d(q, [3, 1])",
        "torch.avg_pool2d(q, [3, 3], [2, 1], [1, 0], False, False)", "torch.mean(q, [2, 3])"}) {
    SCOPED_TRACE(call);
    Case c = quantized({}, "    y = " + std::string(call) + "\n");
    check_exactly(c, x);
  }
  // Half of the averages of four integers or so lie in the middle of two integers.
  const Tensor coarse = random_tensor({1, 20, 8, 14}, -0.1f, 0.1f);
  for (const char* call : {"torch.adaptive_avg_pool2d(q, [4, 7])", "torch.mean(q, [-1, 2], True)",
                           "torch.avg_pool2d(q, [2, 2], [], [0, 0], False, True)"}) {
    SCOPED_TRACE(call);
    Case c = quantized({}, "    y = " + std::string(call) + "\n");
    check_exactly(c, coarse);
    EXPECT_NE(c.kernels({coarse}).find("avg_pool_nhwc_q8"), std::string::npos);
  }
}

}  // namespace
}  // namespace torchlet::cpu
