// Plans of --precision fp16 where the processor computes in float32 alone: next to the reference
// with rounded weights.
#include <gtest/gtest.h>

#include "base/memory_use.h"
#include "device/cpu/testing.h"
#include "kernels/gemm/gemm_nhwc.h"

namespace torchlet::cpu {
namespace {

class HalfWeights : public testing::Test {
 protected:
  void SetUp() override {
    if (kernels::has_float16()) GTEST_SKIP() << "this processor computes in float16";
    if (!kernels::has_half_panels()) GTEST_SKIP() << "this processor does not convert float16";
  }
};

using Weights = std::vector<std::pair<std::string, Tensor>>;

// As the plans round them: those of layers that have many.
Weights rounded(Weights weights) {
  for (auto& [name, weight] : weights) {
    if (weight.numel() >= 1 << 14) weight = weight.to(DType::kFloat16).to(DType::kFloat32);
  }
  return weights;
}

int64_t packed_bytes(Case& c, const std::vector<Value>& inputs) {
  const int64_t before = noted_memory(MemoryUse::kPackedWeights);
  PackedWeights packed;
  std::string why;
  const auto plan = c.plan(inputs, packed, why);
  EXPECT_TRUE(plan) << why;
  return noted_memory(MemoryUse::kPackedWeights) - before;
}

// Returns what the packed weights take of what they take in float32.
double check(const Weights& weights, const std::string& body, const Tensor& x,
             double tolerance = 1e-5) {
  Case half(weights, body, "x: Tensor", "Tensor", Precision::kFloat16);
  Case full(rounded(weights), body);
  for (int run = 0; run < 2; ++run) {
    Case::expect_near(half.planned({x}).to_tensor(), full.reference({x}).to_tensor(), tolerance);
  }
  EXPECT_EQ(half.kernels({x}), full.kernels({x}));
  return static_cast<double>(packed_bytes(half, {x})) /
         static_cast<double>(packed_bytes(full, {x}));
}

TEST_F(HalfWeights, LinearLayers) {
  const Weights weights = {{"w", random_tensor({200, 100})},
                           {"v", random_tensor({100, 200})},
                           {"b", random_tensor({200})}};
  const std::string body =
      "    y = torch.relu(torch.linear(x, self.w, self.b))\n"
      "    return torch.addmm(self.b, torch.linear(y, self.v, None), torch.t(self.w))\n";
  for (const int64_t rows : {1, 3, 5, 17, 64}) {
    EXPECT_NEAR(check(weights, body, random_tensor({rows, 100})), 0.5, 0.02) << rows;
  }
}

TEST_F(HalfWeights, Convolutions) {
  const Weights weights = {{"a", random_tensor({40, 3, 3, 3})},
                           {"b", random_tensor({100, 40, 3, 3}, -0.1f, 0.1f)},
                           {"d", random_tensor({100, 1, 3, 3})},
                           {"p", random_tensor({170, 100, 1, 1}, -0.1f, 0.1f)}};
  EXPECT_NEAR(check(weights,
                    "    y = torch.relu(torch.conv2d(x, self.a, None, [2, 2], [1, 1], [1, 1], 1))\n"
                    "    y = torch.relu(torch.conv2d(y, self.b, None, [2, 2], [1, 1], [1, 1], 1))\n"
                    "    y = torch.conv2d(y, self.d, None, [1, 1], [1, 1], [1, 1], 100)\n"
                    "    return torch.conv2d(y, self.p, None, [1, 1], [0, 0], [1, 1], 1)\n",
                    random_tensor({1, 3, 41, 35})),
              0.5, 0.05);
}

TEST_F(HalfWeights, TransformedOnesAreRounded) {
  EXPECT_EQ(check({{"w", random_tensor({64, 64, 3, 3}, -0.1f, 0.1f)}},
                  "    return torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 1)\n",
                  random_tensor({1, 64, 28, 28}), 2e-3),
            0.5);
}

TEST_F(HalfWeights, InvertedResidualsRunInStrips) {
  const Weights weights = {{"a", random_tensor({320, 64, 1, 1}, -0.2f, 0.2f)},
                           {"b", random_tensor({320, 1, 3, 3})},
                           {"c", random_tensor({64, 320, 1, 1}, -0.1f, 0.1f)}};
  const std::string body =
      "    y = torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1)\n"
      "    y = torch.hardtanh(y, 0., 6.)\n"
      "    y = torch.conv2d(y, self.b, None, [1, 1], [1, 1], [1, 1], 320)\n"
      "    y = torch.conv2d(torch.hardtanh(y, 0., 6.), self.c, None, [1, 1], [0, 0], [1, 1], 1)\n"
      "    return torch.add(x, y)\n";
  const Tensor x = random_tensor({1, 64, 40, 40}).contiguous(MemoryFormat::kChannelsLast);
  EXPECT_NEAR(check(weights, body, x), 0.5, 0.1);
  Case c(weights, body, "x: Tensor", "Tensor", Precision::kFloat16);
  EXPECT_EQ(c.kernels({x}), "inverted_residual_f32");
}

TEST_F(HalfWeights, RecurrentLayers) {
  const Weights weights = {{"w", random_tensor({256, 64}, -0.2f, 0.2f)},
                           {"u", random_tensor({256, 64}, -0.2f, 0.2f)},
                           {"b", random_tensor({256})}};
  for (const int64_t batch : {1, 3, 7}) {
    EXPECT_NEAR(
        check(weights,
              "    h = torch.slice(x, 0, 0, 1)\n"
              "    y, _0, _1 = torch.lstm(x, [h, h], [self.w, self.u, self.b, self.b], True, 1, "
              "0., False, False, False)\n"
              "    return y\n",
              random_tensor({3, batch, 64})),
        0.5, 0.02);
  }
}

// Few weights stay as they are, and so do all that a plan does not multiply with.
TEST_F(HalfWeights, FewWeightsAreNotRounded) {
  const Weights weights = {{"w", random_tensor({100, 100})}};
  Case c(weights, "    return torch.linear(x, self.w, None)\n", "x: Tensor", "Tensor",
         Precision::kFloat16);
  c.check({random_tensor({3, 100})}, 1e-6);
}

TEST_F(HalfWeights, NumbersBeyond65504AreInfinite) {
  Case c({{"w", random_tensor({128, 128}, 65520, 1e5)}},
         "    return torch.linear(x, self.w, None)\n", "x: Tensor", "Tensor", Precision::kFloat16);
  const Tensor y = c.planned({random_tensor({2, 128}, 1, 2)}).to_tensor().contiguous();
  for (int64_t i = 0; i < y.numel(); ++i) EXPECT_TRUE(std::isinf(y.data_ptr<float>()[i]));
}

TEST_F(HalfWeights, ProgramsWithHalvesOfTheirOwnKeepThem) {
  const Weights weights = {{"w", random_tensor({128, 128})}};
  Case c(weights, "    return torch.to(torch.linear(torch.to(x, 6), self.w, None), 5)\n",
         "x: Tensor", "Tensor", Precision::kFloat16);
  const Tensor h = random_tensor({2, 128}).to(DType::kFloat16);
  EXPECT_EQ(c.planned({h}).to_tensor().dtype(), DType::kFloat16);
}

}  // namespace
}  // namespace torchlet::cpu
