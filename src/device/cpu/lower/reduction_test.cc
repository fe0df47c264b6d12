// Reductions in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include <string>

#include "device/cpu/testing.h"

namespace torchlet::cpu {
namespace {

// The split attention of ResNeSt: views of images, sums over parts of the channels.
TEST(LowerReduction, DimensionsStayInTheOrderOfMemory) {
  Case c({{"w", random_tensor({6, 8, 1, 1})}},
         "    y = torch.reshape(x, [2, 2, 8, 5, 6])\n"
         "    z = torch.sum(torch.mul(y, torch.sigmoid(g)), [1])\n"
         "    return torch.conv2d(z, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n",
         "x: Tensor, g: Tensor");
  const Tensor x = random_tensor({2, 16, 5, 6}).contiguous(MemoryFormat::kChannelsLast);
  const Tensor g = random_tensor({2, 2, 8, 1, 1});
  c.check({x, g});
  EXPECT_EQ(c.kernels({x, g}), "activation_rows_f32 broadcast_rows_f32 fold_f32 conv_nhwc_f32");
}

// EvoNorm: a number for each group of channels is spread over its image, of which only one pixel is
// made.
TEST(LowerReduction, SpreadOfGroups) {
  Case c({{"w", random_tensor({1, 24, 1, 1})}, {"k", random_tensor({24, 24, 1, 1})}},
         "    y = torch.conv2d(x, self.k, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    v = torch.var(torch.reshape(y, [2, 3, 8, 5, 6]), [2, 3, 4], False, True)\n"
         "    s = torch.expand(torch.sqrt(torch.add(v, 0.01)), [2, 3, 8, 5, 6])\n"
         "    z = torch.div(y, torch.reshape(s, [2, 24, 5, 6]))\n"
         "    return torch.mul(z, self.w)\n");
  const Tensor x = random_tensor({2, 24, 5, 6}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}),
            "conv_nhwc_f32 fold_f32 fold_f32 affine_rows_f32 unary_rows_f32 copy_strided "
            "binary_rows_f32 binary_rows_f32");
}

TEST(LowerReduction, Reductions) {
  const Tensor x = random_tensor({2, 3, 5, 7});
  const Tensor nhwc = x.contiguous(MemoryFormat::kChannelsLast);
  for (const char* dims : {"[1]", "[0, 2]", "[-1]", "[1, 2]", "[0, 1, 2, 3]"}) {
    for (const char* keepdim : {"False", "True"}) {
      const std::string end = std::string(dims) + ", " + keepdim;
      for (const std::string& call :
           {"torch.sum(y, " + end + ")", "torch.mean(y, " + end + ")", "torch.amax(y, " + end + ")",
            "torch.amin(y, " + end + ")", "torch.norm(y, 2, " + end + ")",
            "torch.linalg_vector_norm(y, 2, " + end + ")"}) {
        SCOPED_TRACE(call);
        Case c({}, "    y = torch.sigmoid(x)\n    return " + call + "\n");
        c.check({x});
        c.check({nhwc});
        EXPECT_EQ(c.by_reference(), "");
        EXPECT_EQ(c.kernels({x}).find("activation_rows_f32 fold_f32"), 0u) << c.kernels({x});
      }
    }
  }
  for (const char* call :
       {"std(y, [0, 2], False, True)", "var(y, [1, 3], correction=0, keepdim=False)",
        "std(y, None, correction=None, keepdim=True)", "var(y, True)", "var(y, [-1])"}) {
    SCOPED_TRACE(call);
    Case c({}, "    y = torch.sigmoid(x)\n    return torch." + std::string(call) + "\n");
    c.check({x});
    c.check({nhwc});
    EXPECT_EQ(c.kernels({x}), "activation_rows_f32 fold_f32 fold_f32");
  }
  Case both({},
            "    y, m = torch.var_mean(torch.sigmoid(x), [2], False, True)\n"
            "    return torch.add(y, m)\n");
  both.check({nhwc});
  EXPECT_EQ(both.kernels({x}), "activation_rows_f32 fold_f32 fold_f32 binary_rows_f32");
  Case all({}, "    return torch.sum(torch.sigmoid(x))\n");
  all.check({x});
  EXPECT_EQ(all.kernels({x}), "activation_rows_f32 fold_f32");
  Case other({}, "    return torch.norm(torch.relu(x), 3, [1], False)\n");
  other.check({x});
  EXPECT_EQ(other.by_reference(), "aten::norm: another order; ");
}

}  // namespace
}  // namespace torchlet::cpu
