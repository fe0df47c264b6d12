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
  Case all({}, "    return torch.sum(torch.sigmoid(x))\n");
  all.check({x});
  EXPECT_EQ(all.kernels({x}), "activation_rows_f32 fold_f32");
  Case other({}, "    return torch.norm(torch.relu(x), 3, [1], False)\n");
  other.check({x});
  EXPECT_EQ(other.by_reference(), "aten::norm: another order; ");
}

}  // namespace
}  // namespace torchlet::cpu
