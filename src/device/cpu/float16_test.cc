// Plans in float16 next to the reference in float32.
#include <gtest/gtest.h>

#include "device/cpu/testing.h"

namespace torchlet::cpu {
namespace {

// Of the largest value, after a few layers.
constexpr double kTolerance = 4e-3;

class Float16Plan : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernels::has_float16()) GTEST_SKIP() << "this processor has no float16 arithmetic";
  }
};

using Weights = std::vector<std::pair<std::string, Tensor>>;

Case in_float16(const Weights& weights, const std::string& body,
                const std::string& parameters = "x: Tensor") {
  return Case(weights, body, parameters, "Tensor", Precision::kFloat16);
}

// Weights that keep the size of numbers from layer to layer.
Tensor filter(IntArray sizes) {
  const float limit = std::sqrt(3.0f / static_cast<float>(sizes[1] * sizes[2] * sizes[3]));
  return random_tensor(sizes, -limit, limit);
}

Tensor channels_last(IntArray sizes) {
  return random_tensor(sizes).contiguous(MemoryFormat::kChannelsLast);
}

TEST_F(Float16Plan, AResidualNetworkIsConvertedAtTheDoor) {
  Case c = in_float16(
      {{"a", filter({16, 3, 3, 3})},
       {"b", filter({16, 16, 3, 3})},
       {"c", filter({24, 16, 1, 1})},
       {"w", random_tensor({10, 24}, -0.3f, 0.3f)},
       {"v", random_tensor({10})}},
      "    y = torch.relu(torch.conv2d(x, self.a, None, [2, 2], [1, 1], [1, 1], 1))\n"
      "    z = torch.conv2d(y, self.b, None, [1, 1], [1, 1], [1, 1], 1)\n"
      "    y = torch.max_pool2d(torch.relu(torch.add(z, y)), [3, 3], [2, 2], [1, 1], [1, 1], "
      "False)\n"
      "    y = torch.hardswish(torch.conv2d(y, self.c, None, [1, 1], [0, 0], [1, 1], 1))\n"
      "    y = torch.flatten(torch.adaptive_avg_pool2d(y, [1, 1]), 1)\n"
      "    return torch.linear(y, self.w, self.v)\n");
  const Tensor x = random_tensor({2, 3, 33, 31});
  c.check({x}, kTolerance);
  EXPECT_EQ(c.kernels({x}),
            "conv_nhwc_f16 conv_nhwc_f16 max_pool_nhwc_f16 conv_nhwc_f16 global_avg_pool_nhwc_f16 "
            "conv_nhwc_f16 convert");
  EXPECT_EQ(c.planned({x}).to_tensor().dtype(), DType::kFloat32);
}

TEST_F(Float16Plan, InvertedResidualsRunInStrips) {
  Case c = in_float16(
      {{"a", filter({96, 16, 1, 1})}, {"b", filter({96, 1, 3, 3})}, {"c", filter({16, 96, 1, 1})}},
      "    y = torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1)\n"
      "    y = torch.hardtanh(y, 0., 6.)\n"
      "    y = torch.conv2d(y, self.b, None, [1, 1], [1, 1], [1, 1], 96)\n"
      "    y = torch.hardtanh(y, 0., 6.)\n"
      "    y = torch.conv2d(y, self.c, None, [1, 1], [0, 0], [1, 1], 1)\n"
      "    return torch.add(x, y)\n");
  const Tensor large = channels_last({1, 16, 100, 100}), small = channels_last({1, 16, 9, 8});
  c.check({large}, kTolerance);
  c.check({small}, kTolerance);
  EXPECT_EQ(c.kernels({large}), "convert inverted_residual_f16 convert");
  EXPECT_EQ(c.kernels({small}), "convert conv_nhwc_f16 dwconv_nhwc_f16 conv_nhwc_f16 convert");
}

TEST_F(Float16Plan, ConcatenationSqueezeAndExciteAndResizing) {
  Case c = in_float16(
      {{"a", filter({8, 6, 3, 3})},
       {"b", filter({5, 6, 1, 1})},
       {"s", filter({13, 13, 1, 1})},
       {"k", random_tensor({1, 13, 1, 1})}},
      "    u = torch.conv2d(x, self.a, None, [1, 1], [1, 1], [1, 1], 1)\n"
      "    v = torch.silu(torch.conv2d(x, self.b, None, [1, 1], [0, 0], [1, 1], 1))\n"
      "    y = torch.cat([u, v], 1)\n"
      "    s = torch.conv2d(torch.adaptive_avg_pool2d(y, [1, 1]), self.s, None, [1, 1], [0, 0], "
      "[1, 1], 1)\n"
      "    y = torch.mul(torch.add(y, self.k), torch.sigmoid(s))\n"
      "    y = torch.upsample_nearest2d(y, [9, 20])\n"
      "    y = torch.upsample_bilinear2d(torch.avg_pool2d(y, [2, 2], [2, 2]), [7, 9], False)\n"
      "    return torch.sub(y, 0.5)\n");
  const Tensor x = channels_last({2, 6, 5, 7});
  c.check({x}, kTolerance);
  c.check({random_tensor({1, 6, 4, 4})}, kTolerance);
  EXPECT_EQ(c.kernels({x}),
            "convert conv_nhwc_f16 conv_nhwc_f16 global_avg_pool_nhwc_f16 conv_nhwc_f16 "
            "binary_rows_f16 binary_rows_f16 resize_nearest_nhwc avg_pool_nhwc_f16 convert "
            "resize_linear_nhwc_f32 affine_rows_f32");
}

TEST_F(Float16Plan, OnlyLayersRoundTheirInputs) {
  Case c = in_float16({}, "    return torch.relu(torch.mul(torch.add(x, 1000), x))\n");
  c.check({random_tensor({3, 4})}, 1e-6);
  EXPECT_EQ(c.kernels({random_tensor({3, 4})}), "affine_rows_f32 binary_rows_f32");
}

TEST_F(Float16Plan, WhatHasNoKernelInFloat16RunsInFloat32) {
  Case c = in_float16(
      {{"w", random_tensor({24, 8}, -0.6f, 0.6f)},
       {"g", random_tensor({8})},
       {"t", filter({8, 8, 2, 2})}},
      "    y = torch.layer_norm(torch.transpose(torch.flatten(x, 2), 1, 2), [8], self.g, self.g)\n"
      "    q, k, v = torch.chunk(torch.linear(y, self.w), 3, -1)\n"
      "    a = torch.softmax(torch.matmul(q, torch.transpose(k, 1, 2)), -1)\n"
      "    y = torch.reshape(torch.transpose(torch.matmul(a, v), 1, 2), [2, 8, 3, 4])\n"
      "    y = torch.conv_transpose2d(y, self.t, None, [2, 2], [0, 0], [0, 0], 1, [1, 1])\n"
      "    return torch.cumsum(torch.flip(torch.relu(y), [2]), 1)\n");
  c.check({random_tensor({2, 8, 3, 4})}, kTolerance);
}

TEST_F(Float16Plan, NumbersBeyond65504AreInfinite) {
  Case c = in_float16({{"w", random_tensor({4, 1, 1, 1}, 300, 301)}},
                      "    return torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n");
  const Tensor x = random_tensor({1, 1, 2, 2}, 300, 301);
  const Tensor y = c.planned({x}).to_tensor().contiguous();
  for (int64_t i = 0; i < y.numel(); ++i) EXPECT_TRUE(std::isinf(y.data_ptr<float>()[i]));
}

TEST_F(Float16Plan, ProgramsWithHalvesOfTheirOwnKeepThem) {
  Case c = in_float16({{"w", filter({4, 4, 1, 1})}},
                      "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
                      "    return torch.relu(torch.add(torch.to(y, 5), h))\n",
                      "x: Tensor, h: Tensor");
  const Tensor x = random_tensor({1, 4, 3, 3}), h = random_tensor({3}).to(DType::kFloat16);
  c.check({x, h}, kTolerance);
  EXPECT_EQ(c.planned({x, h}).to_tensor().dtype(), DType::kFloat16);
}

TEST_F(Float16Plan, QuantizedPartsStayQuantized) {
  Case c = in_float16({{"w", filter({4, 4, 1, 1})}},
                      "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
                      "    q = torch.quantize_per_tensor(y, 0.05, 100, 13)\n"
                      "    return torch.dequantize(torch.relu(q))\n");
  c.check({random_tensor({1, 4, 6, 5})}, 0.05);
}

TEST_F(Float16Plan, SeveralOutputsOfOneTensor) {
  Case c({{"w", filter({4, 3, 1, 1})}},
         "    y = torch.relu(torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1))\n"
         "    return (y, torch.flatten(y, 1), y)\n",
         "x: Tensor", "Tuple[Tensor, Tensor, Tensor]", Precision::kFloat16);
  const Tensor x = random_tensor({2, 3, 4, 5});
  const auto got = c.planned({x}).to_tuple(), want = c.reference({x}).to_tuple();
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    Case::expect_near(got[i].to_tensor(), want[i].to_tensor(), kTolerance);
  }
}

}  // namespace
}  // namespace torchlet::cpu
