// Weights that several layers share, and layers that several plans share.
#include "device/cpu/packed_weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/cpu/testing.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

TEST(PackedWeights, OneWeightInDifferentConvolutions) {
  Case c({{"w", random_tensor({8, 4, 3, 3})}, {"b", random_tensor({8})}},
         "    y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.conv2d(y, self.w, self.b, [1, 1], [1, 1], [1, 1], 2)\n");
  c.check({random_tensor({1, 4, 6, 6})});
  Case transposed({{"w", random_tensor({4, 4, 2, 2})}},
                  "    y = torch.conv_transpose2d(x, self.w, None, [1, 1], [0, 0], [0, 0], 1)\n"
                  "    y = torch.conv_transpose2d(y, self.w, None, [1, 1], [0, 0], [0, 0], 2)\n"
                  "    return torch.conv2d(torch.slice(y, 1, 0, 4), self.w, None, [1, 1], [0, 0], "
                  "[1, 1], 1)\n");
  transposed.check({random_tensor({1, 4, 4, 5})});
}

TEST(PackedWeights, OfADerivedTensorLeaveItWithoutMemory) {
  const Tensor derived =
      derived_tensor(random_tensor({4}), [](const Tensor& from, int64_t, std::byte* to) {
        for (int i = 0; i < 4; ++i) reinterpret_cast<float*>(to)[i] = 3 * from.data_ptr<float>()[i];
      });
  const auto copy = [](void* to, const Tensor& from) { std::memcpy(to, from.raw_data(), 16); };
  PackedWeights packed;
  const auto made = packed.get(16, +copy, derived), again = packed.get(16, +copy, derived);
  EXPECT_EQ(made, again);
  EXPECT_FALSE(derived.impl()->storage->has_memory());
  EXPECT_EQ(std::memcmp(made.get(), derived.raw_data(), 16), 0);
}

TEST(PackedWeights, ByRowsOfADerivedTensorLeaveItWithoutMemory) {
  const Tensor derived =
      derived_tensor(random_tensor({4, 2}), [](const Tensor& from, int64_t first, std::byte* to) {
        auto* floats = reinterpret_cast<float*>(to);
        for (int64_t i = 0; i < from.numel(); ++i) {
          floats[i] = from.data_ptr<float>()[i] + static_cast<float>(first + i / 2);
        }
      });
  const auto copy = [](void* to, const ByRows& weight) {
    RowReader reader(weight.tensor);
    auto* bytes = static_cast<std::byte*>(to);
    std::memcpy(bytes, reader.rows(0, 3).raw_data(), 24);
    std::memcpy(bytes + 24, reader.rows(3, 4).raw_data(), 8);
  };
  PackedWeights packed;
  const auto made = packed.get(32, +copy, derived), again = packed.get(32, +copy, derived);
  EXPECT_EQ(made, again);
  EXPECT_FALSE(derived.impl()->storage->has_memory());
  EXPECT_EQ(std::memcmp(made.get(), derived.raw_data(), 32), 0);
}

TEST(PackedWeights, ViewsOfOneWeight) {
  Case c(
      {{"w", random_tensor({6, 6})}},
      "    y = torch.linear(x, self.w, None)\n"
      "    y = torch.linear(y, torch.t(self.w), None)\n"
      "    y = torch.addmm(torch.select(self.w, 0, 1), y, self.w)\n"
      "    y = torch.addmm(torch.select(self.w, 1, 1), y, self.w)\n"
      "    y = torch.linear(y, torch.slice(self.w, 0, 0, 3), torch.slice(torch.select(self.w, 0, "
      "2), 0, 0, 3))\n"
      "    return torch.linear(y, torch.slice(torch.slice(self.w, 0, 3), 1, 3), None)\n");
  c.check({random_tensor({3, 6})});
}

TEST(PackedWeights, NormalizationsThatShareTheirMean) {
  Case c(
      {{"m", random_tensor({4})},
       {"v", random_tensor({4}, 0.5, 1)},
       {"u", random_tensor({4}, 0.5, 1)},
       {"w", random_tensor({4})}},
      "    y = torch.batch_norm(torch.sigmoid(x), self.w, None, self.m, self.v, False, 0.1, 1e-5, "
      "True)\n"
      "    y = torch.batch_norm(torch.sigmoid(y), None, self.w, self.m, self.v, False, 0.1, 1e-5, "
      "True)\n"
      "    y = torch.batch_norm(torch.sigmoid(y), self.w, None, self.m, self.u, False, 0.1, 1e-5, "
      "True)\n"
      "    return torch.batch_norm(torch.sigmoid(y), self.w, None, self.m, self.u, False, 0.1, "
      "0.5, True)\n");
  c.check({random_tensor({2, 4, 3, 3})});
}

TEST(PackedWeights, RecurrentLayersThatShareAllButABias) {
  Case c({{"w", random_tensor({16, 4})}, {"b", random_tensor({16})}, {"d", random_tensor({16})}},
         "    h = torch.slice(x, 0, 0, 1)\n"
         "    y, _0, _1 = torch.lstm(x, [h, h], [self.w, self.w, self.b, self.b], True, 1, 0., "
         "False, False, False)\n"
         "    z, _2, _3 = torch.lstm(y, [h, h], [self.w, self.w, self.b, self.d], True, 1, 0., "
         "False, False, False)\n"
         "    return torch.relu(z)\n");
  c.check({random_tensor({3, 2, 4})});
}

// Views of weights are made anew for each signature; what was packed of them is found again.
TEST(PackedWeights, SignaturesShareThem) {
  Case c(
      {{"w", random_tensor({6, 6})},
       {"f", random_tensor({12, 6})},
       {"b", random_tensor({6})},
       {"m", random_tensor({6})},
       {"v", random_tensor({6}, 0.5, 1)}},
      "    y = torch.addmm(self.b, x, self.w)\n"
      "    y = torch.matmul(y, torch.t(self.w))\n"
      "    y = torch.linear(y, torch.view(self.f, [12, 6]), None)\n"
      "    y = torch.linear(y, torch.t(torch.reshape(self.f, [12, 6])), self.b)\n"
      "    y = torch.layer_norm(y, [6], self.m, self.b, 1e-5, True)\n"
      "    y = torch.unsqueeze(torch.unsqueeze(y, 2), 3)\n"
      "    y = torch.batch_norm(y, self.m, self.b, self.m, self.v, False, 0.1, 1e-5, True)\n"
      "    return torch.conv2d(y, torch.view(self.w, [6, 6, 1, 1]), None, [1, 1], [0, 0], [1, 1], "
      "1)\n");
  PackedWeights packed;
  std::string why;
  const auto first = c.plan({random_tensor({2, 6})}, packed, why);
  ASSERT_TRUE(first) << why;
  ASSERT_GE(first->packed.size(), 8U);
  for (int64_t n = 3; n < 20; ++n) {
    const auto plan = c.plan({random_tensor({n, 6})}, packed, why);
    ASSERT_TRUE(plan) << why;
    EXPECT_EQ(plan->packed, first->packed);
  }
}

void fill(void* to, const Tensor& tensor, const int64_t& number) {
  static_cast<int64_t*>(to)[0] = tensor.size(0) + number;
}

TEST(PackedWeights, TheKeyIsAllThatThePackingReads) {
  PackedWeights packed;
  const Tensor tensor = random_tensor({4, 4});
  const auto of = [&](const Tensor& t, int64_t number) { return packed.get(8, fill, t, number); };
  const auto first = of(tensor, 1);
  EXPECT_EQ(of(tensor, 1), first);
  EXPECT_EQ(of(ops::transpose(ops::transpose(tensor, 0, 1), 0, 1), 1), first);
  for (const Tensor& other :
       {ops::transpose(tensor, 0, 1), ops::slice(tensor, 0, 1, 3, 1),
        ops::slice(tensor, 0, 0, 3, 1), ops::slice(tensor, 1, 0, 3, 1), tensor.clone()}) {
    EXPECT_NE(of(other, 1), first);
  }
  EXPECT_NE(of(tensor, 2), first);
  EXPECT_NE(packed.get(16, fill, tensor, 1), first);
}

TEST(PackedWeights, WhatNoPlanHoldsGoes) {
  PackedWeights packed;
  const Tensor tensor = random_tensor({4, 4});
  const std::weak_ptr<const void> gone = packed.get(8, fill, tensor, 1);
  EXPECT_TRUE(gone.expired());
}

}  // namespace
}  // namespace torchlet::cpu
