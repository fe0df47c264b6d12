// Plans of --precision bf16 next to the reference in float32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/memory_use.h"
#include "device/cpu/testing.h"
#include "kernels/half/bfloat16.h"
#include "kernels/simd/isa.h"

namespace torchlet::cpu {
namespace {

using Weights = std::vector<std::pair<std::string, Tensor>>;

// Eight bits: sums of products of numbers around 1 stay well within this of the largest result.
constexpr double kTolerance = 0.02;

class BFloat16Plans : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernels::has_bfloat16()) GTEST_SKIP() << "this processor has no products of bfloat16";
  }
};

Case rounded(const Weights& weights, const std::string& body) {
  return Case(weights, body, "x: Tensor", "Tensor", Precision::kBFloat16);
}

int64_t packed_bytes(Case& c, const Tensor& x) {
  const int64_t before = noted_memory(MemoryUse::kPackedWeights);
  PackedWeights packed;
  std::string why;
  const auto plan = c.plan({x}, packed, why);
  EXPECT_TRUE(plan) << why;
  return noted_memory(MemoryUse::kPackedWeights) - before;
}

void check(const Weights& weights, const std::string& body, const Tensor& x,
           const std::string& kernels) {
  Case c = rounded(weights, body);
  EXPECT_EQ(c.kernels({x}), kernels);
  const Tensor want = c.reference({x}).to_tensor().contiguous();
  double largest = 0;
  for (int64_t i = 0; i < want.numel(); ++i) {
    largest = std::fmax(largest, std::fabs(static_cast<double>(want.data_ptr<float>()[i])));
  }
  for (int run = 0; run < 2; ++run) {
    Case::expect_near(c.planned({x}).to_tensor(), want, kTolerance * largest);
  }
  Case full(weights, body);
  const Tensor exact = full.planned({x}).to_tensor().contiguous();
  const Tensor got = c.planned({x}).to_tensor().contiguous();
  EXPECT_NE(std::memcmp(got.data_ptr<float>(), exact.data_ptr<float>(),
                        static_cast<size_t>(got.numel()) * sizeof(float)),
            0);
}

TEST_F(BFloat16Plans, LinearLayersMultiplyInIt) {
  const Weights weights = {{"w", random_tensor({200, 100})},
                           {"v", random_tensor({100, 200})},
                           {"b", random_tensor({200})}};
  const std::string body =
      "    y = torch.gelu(torch.linear(x, self.w, self.b), approximate=\"none\")\n"
      "    return torch.linear(y, self.v, None)\n";
  for (const int64_t rows : {1, 5, 64}) {
    check(weights, body, random_tensor({rows, 100}), "conv_nhwc_bf16 conv_nhwc_bf16");
  }
  Case full(weights, body), half = rounded(weights, body);
  const Tensor x = random_tensor({5, 100});
  EXPECT_EQ(packed_bytes(half, x) * 2, packed_bytes(full, x) + 200 * 4);  // the bias stays
}

TEST_F(BFloat16Plans, ConvolutionsMultiplyInItWhereThatIsFaster) {
  check({{"a", random_tensor({32, 3, 3, 3})},
         {"b", random_tensor({64, 32, 3, 3}, -0.1f, 0.1f)},
         {"c", random_tensor({64, 64, 3, 3}, -0.1f, 0.1f)},
         {"d", random_tensor({64, 1, 3, 3})},
         {"p", random_tensor({65, 64, 1, 1}, -0.2f, 0.2f)},
         {"q", random_tensor({64, 65, 1, 1}, -0.2f, 0.2f)}},
        "    y = torch.relu(torch.conv2d(x, self.a, None, [2, 2], [1, 1], [1, 1], 1))\n"
        "    y = torch.relu(torch.conv2d(y, self.b, None, [2, 2], [1, 1], [1, 1], 1))\n"
        "    y = torch.relu(torch.conv2d(y, self.c, None, [1, 1], [1, 1], [1, 1], 1))\n"
        "    y = torch.conv2d(y, self.d, None, [1, 1], [1, 1], [1, 1], 64)\n"
        "    y = torch.conv2d(y, self.p, None, [1, 1], [0, 0], [1, 1], 1)\n"
        "    return torch.conv2d(y, self.q, None, [1, 1], [0, 0], [1, 1], 1)\n",
        random_tensor({1, 3, 64, 64}),
        "conv_nhwc_f32 conv_nhwc_bf16 conv_nhwc_f32 dwconv_nhwc_f32 conv_nhwc_bf16 conv_nhwc_f32 "
        "copy_strided");
}

TEST_F(BFloat16Plans, LstmsMultiplyTheirInputInIt) {
  const Weights weights = {{"w", random_tensor({256, 64}, -0.2f, 0.2f)},
                           {"u", random_tensor({256, 64}, -0.2f, 0.2f)},
                           {"b", random_tensor({256})}};
  check(weights,
        "    h = torch.slice(x, 0, 0, 1)\n"
        "    y, _0, _1 = torch.lstm(x, [h, h], [self.w, self.u, self.b, self.b], True, 1, 0., "
        "False, False, False)\n"
        "    return y\n",
        random_tensor({3, 2, 64}), "lstm_f32 copy_strided");
}

// Float16 is only another dtype there.
TEST_F(BFloat16Plans, ProgramsWithHalvesOfTheirOwnKeepThem) {
  Case c = rounded({{"w", random_tensor({128, 128})}},
                   "    return torch.to(torch.linear(torch.to(x, 6), self.w, None), 5)\n");
  const Tensor h = random_tensor({2, 128}).to(DType::kFloat16);
  EXPECT_EQ(c.planned({h}).to_tensor().dtype(), DType::kFloat16);
}

TEST(BFloat16, IsFloat32WhereTheProcessorHasNoProductsOfIt) {
  const kernels::Isa limit = kernels::limit_isa(kernels::Isa::kAvx512Vnni);
  Case c =
      rounded({{"w", random_tensor({128, 128})}}, "    return torch.linear(x, self.w, None)\n");
  const Tensor x = random_tensor({3, 128});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32");
  c.check({x}, 1e-6);
  kernels::limit_isa(limit);
}

}  // namespace
}  // namespace torchlet::cpu
