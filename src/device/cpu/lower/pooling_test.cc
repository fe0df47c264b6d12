// Pooling and resizing in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include "device/cpu/testing.h"

namespace torchlet::cpu {
namespace {

TEST(LowerPooling, PoolingMeansAndFlattening) {
  Case c({{"w", random_tensor({5, 6})}, {"b", random_tensor({5})}},
         "    y = torch.max_pool2d(x, [3, 3], [2, 2], [1, 1], [1, 1], True)\n"
         "    y = torch.avg_pool2d(y, [2, 2], [1, 1], [1, 1], False, False)\n"
         "    y = torch.adaptive_avg_pool2d(y, [1, 1])\n"
         "    return torch.linear(torch.flatten(y, 1), self.w, self.b)\n");
  c.check({random_tensor({3, 6, 10, 7})});
  Case mean({}, "    return torch.mean(x, [2, 3])\n");
  mean.check({random_tensor({2, 5, 3, 4})});
}

TEST(LowerPooling, ResizingAsPytorchDoes) {
  Case c({},
         "    y = torch.upsample_bilinear2d(x, [9, 5], False)\n"
         "    return torch.upsample_nearest2d(y, [4, 11])\n");
  c.check({random_tensor({1, 3, 4, 6})});
}

}  // namespace
}  // namespace torchlet::cpu
