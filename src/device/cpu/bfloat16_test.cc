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

// Layers of programs in bfloat16 compute in float32, and their products in bfloat16 where the
// processor has them; what is between them is the reference's.
class BFloat16Programs : public testing::Test {
 protected:
  static Tensor random(const IntArray& sizes, float bound = 1) {
    return random_tensor(sizes, -bound, bound).to(DType::kBFloat16);
  }
  // Both round sums of float32, which may end on either side of a half.
  static void check(const Weights& weights, const std::string& body, const Tensor& x,
                    const std::string& kernels) {
    Case c(weights, body);
    std::string expected = kernels;
    if (!kernels::has_bfloat16()) {
      for (size_t at; (at = expected.find("bf16")) != std::string::npos;)
        expected.replace(at, 4, "f32");
    }
    EXPECT_EQ(c.kernels({x}), expected);
    const Tensor want = c.reference({x}).to_tensor(), got = c.planned({x}).to_tensor();
    ASSERT_EQ(got.dtype(), DType::kBFloat16);
    ASSERT_EQ(IntArray(got.sizes()), IntArray(want.sizes()));
    const Tensor exact = want.to(DType::kFloat32).contiguous();
    const Tensor other = got.to(DType::kFloat32).contiguous();
    double largest = 0;
    for (int64_t i = 0; i < exact.numel(); ++i) {
      largest = std::fmax(largest, std::fabs(static_cast<double>(exact.data_ptr<float>()[i])));
    }
    Case::expect_near(other, exact, largest / 128);
  }
};

TEST_F(BFloat16Programs, LinearLayers) {
  const Weights weights = {
      {"w", random({200, 100})}, {"v", random({37, 200})}, {"b", random({200})}};
  for (const int64_t rows : {1, 5, 64}) {
    check(weights,
          "    y = torch.relu(torch.linear(x, self.w, self.b))\n"
          "    return torch.linear(y, self.v, None)\n",
          random({2, rows, 100}),
          "convert conv_nhwc_bf16 convert aten::relu convert conv_nhwc_bf16 convert");
  }
  check({{"w", random({100, 37})}, {"b", random({37})}},
        "    return torch.addmm(self.b, x, self.w, beta=1, alpha=1)\n", random({5, 100}),
        "convert conv_nhwc_bf16 convert");
}

TEST_F(BFloat16Programs, Convolutions) {
  const Weights weights = {{"a", random({32, 3, 3, 3})},
                           {"d", random({32, 1, 3, 3})},
                           {"p", random({40, 32, 1, 1})},
                           {"b", random({40})}};
  const std::string body =
      "    y = torch.conv2d(x, self.a, None, [2, 2], [1, 1], [1, 1], 1)\n"
      "    y = torch.conv2d(y, self.d, None, [1, 1], [1, 1], [1, 1], 32)\n"
      "    return torch.conv2d(y, self.p, self.b, [1, 1], [0, 0], [1, 1], 1)\n";
  check(weights, body, random({2, 3, 17, 14}),
        "convert conv_nhwc_f32 convert convert dwconv_nhwc_f32 convert convert conv_nhwc_bf16 "
        "convert copy_strided");
  check({{"w", random({24, 16, 5})}},
        "    return torch.conv1d(x, self.w, None, [1], [2], [1], 1)\n", random({2, 16, 30}),
        "convert copy_strided conv_nhwc_f32 convert copy_strided");
}

TEST_F(BFloat16Programs, EncoderLayers) {
  const int64_t width = 16;
  check({{"qw", random({3 * width, width}, 0.3f)},
         {"qb", random({3 * width})},
         {"pw", random({width, width}, 0.3f)},
         {"pb", random({width})},
         {"n", random({width})},
         {"f", random({32, width}, 0.3f)},
         {"fb", random({32})},
         {"g", random({width, 32}, 0.3f)}},
        "    return torch._transformer_encoder_layer_fwd(x, 16, 2, self.qw, self.qb, self.pw, "
        "self.pb, True, False, 1e-05, self.n, self.pb, self.n, self.pb, self.f, self.fb, self.g, "
        "self.pb, None)\n",
        random({2, 5, width}),
        "convert conv_nhwc_bf16 attention_f32 conv_nhwc_f32 layer_norm_f32 conv_nhwc_bf16 "
        "conv_nhwc_f32 layer_norm_f32 convert");
}

}  // namespace
}  // namespace torchlet::cpu
