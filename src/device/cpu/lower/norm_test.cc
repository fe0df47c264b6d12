// Normalization and softmax in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include <string>

#include "device/cpu/testing.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

TEST(LowerNorm, SoftmaxReadsMemoryAsItLies) {
  const Tensor x = random_tensor({2, 5, 3, 4});
  const auto check = [&](const Tensor& of, const std::string& dim, const std::string& kernels) {
    Case c({}, "    return torch.softmax(torch.relu(x), " + dim + ")\n");
    c.check({of});
    EXPECT_EQ(c.kernels({of}), "activation_rows_f32 " + kernels) << dim;
    Case logarithm({}, "    return torch.log_softmax(torch.relu(x), " + dim + ")\n");
    logarithm.check({of});
    EXPECT_EQ(logarithm.kernels({of}), "activation_rows_f32 log_" + kernels) << dim;
  };
  for (const char* dim : {"0", "1", "-2"}) check(x, dim, "softmax_columns_f32");
  check(x, "3", "softmax_f32");
  const Tensor nhwc = x.contiguous(MemoryFormat::kChannelsLast);
  check(nhwc, "1", "softmax_f32");
  check(nhwc, "2", "softmax_columns_f32");
}

TEST(LowerNorm, GroupsOfChannelsAreNormalized) {
  const Tensor w = random_tensor({8}), b = random_tensor({8});
  const Tensor x = random_tensor({2, 8, 5, 7});
  const Tensor nhwc = x.contiguous(MemoryFormat::kChannelsLast);
  for (const char* norm :
       {"torch.group_norm(x, 4, self.w, self.b, 1e-05, True)",
        "torch.group_norm(x, 1, None, self.b, 0.1, True)",
        "torch.instance_norm(x, self.w, self.b, None, None, True, 0.1, 1e-05, True)",
        "torch.instance_norm(x, None, None, None, None, True, 0.1, 0.1, True)"}) {
    Case c({{"w", w}, {"b", b}}, "    return torch.silu(" + std::string(norm) + ")\n");
    c.check({nhwc});
    EXPECT_EQ(c.kernels({nhwc}), "group_norm_nhwc_f32") << norm;
    c.check({x});
    c.check({random_tensor({2, 8, 5})});
    const Tensor line = ops::transpose(random_tensor({2, 5, 8}), 1, 2);
    c.check({line});
    EXPECT_EQ(c.kernels({line}), "group_norm_nhwc_f32 copy_strided") << norm;
  }
  Case running(
      {{"w", w}, {"b", b}},
      "    return torch.instance_norm(x, None, None, self.w, torch.abs(self.b), False, 0.1, "
      "1e-05, True)\n");
  running.check({nhwc});
}

TEST(LowerNorm, RowsAreNormalizedByWhatWasLearned) {
  Case c({{"w", random_tensor({7})}, {"v", random_tensor({7}, 0.5F, 2)}},
         "    y = torch.batch_norm(x, self.w, None, self.w, self.v, False, 0.1, 1e-05, True)\n"
         "    return torch.relu(y)\n");
  const Tensor rows = random_tensor({5, 7});
  c.check({rows});
  EXPECT_EQ(c.kernels({rows}), "scale_shift_rows_f32");
  c.check({ops::transpose(random_tensor({7, 5}), 0, 1)});
  // Lines whose channels lie together.
  const Tensor lines = ops::transpose(random_tensor({2, 5, 7}), 1, 2);
  c.check({lines});
  EXPECT_EQ(c.kernels({lines}), "scale_shift_rows_f32 copy_strided");  // it leaves in planes
}

TEST(LowerNorm, PlanesAreNormalizedAndAveragedAsTheyLie) {
  Case norm({{"w", random_tensor({7})}, {"v", random_tensor({7}, 0.5F, 2)}},
            "    y = torch.batch_norm(x, self.w, None, self.w, self.v, False, 0.1, 1e-05, True)\n"
            "    return torch.relu(y)\n");
  for (const IntArray& sizes : {IntArray{2, 7, 5}, IntArray{2, 7, 3, 5}, IntArray{1, 7, 2, 3, 5}}) {
    const Tensor x = random_tensor(sizes);
    norm.check({x});
    EXPECT_EQ(norm.kernels({x}), "scale_shift_planes_f32") << sizes.size();
  }
  const Tensor image = random_tensor({2, 7, 3, 5});
  norm.check({image.contiguous(MemoryFormat::kChannelsLast)});
  EXPECT_EQ(norm.kernels({image.contiguous(MemoryFormat::kChannelsLast)}), "scale_shift_rows_f32");

  Case pooled({}, "    return torch.mul(x, torch.adaptive_avg_pool2d(x, [1, 1]))\n");
  pooled.check({image});
  EXPECT_EQ(pooled.kernels({image}), "fold_f32 binary_rows_f32");
  Case mean({}, "    return torch.mean(x, [2, 3])\n");
  mean.check({image});
  EXPECT_EQ(mean.kernels({image}), "fold_f32");
}

}  // namespace
}  // namespace torchlet::cpu
