// Concatenation in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include <string>

#include "device/cpu/testing.h"

namespace torchlet::cpu {
namespace {

TEST(LowerJoin, StackedTensorsAreComputedInTheirPlaces) {
  Case c({{"w", random_tensor({6, 5})}},
         "    y = torch.linear(x, self.w, None)\n"
         "    return torch.stack([y, torch.relu(y)], 0)\n");
  const Tensor x = random_tensor({4, 5});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 activation_rows_f32");
  // Between others, and the same one twice.
  Case middle({},
              "    y = torch.sigmoid(x)\n"
              "    return torch.stack([y, y, torch.neg(x)], -2)\n");
  middle.check({random_tensor({2, 3, 7})});
  middle.check({random_tensor({3})});
}

TEST(LowerJoin, RollingCopiesParts) {
  const auto check = [](const std::string& roll, const std::string& kernels) {
    Case c({}, "    return torch.roll(torch.relu(x), " + roll + ")\n");
    const Tensor x = random_tensor({3, 5, 4});
    c.check({x});
    EXPECT_EQ(c.kernels({x}), "activation_rows_f32" + kernels) << roll;
  };
  check("[2], [1]", " copy_strided copy_strided");
  check("[-1, 7], [0, -1]", " copy_strided copy_strided copy_strided copy_strided");
  check("[-8], [2]", " copy_strided");  // all of it
  check("[1, 1], [1, 1]", " aten::roll");
  check("[2], []", " aten::roll");
}

TEST(LowerJoin, ConcatenationIsWrittenInPlace) {
  Case c({{"a", random_tensor({4, 4, 1, 1})}, {"b", random_tensor({3, 4, 3, 3})}},
         "    u = torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    v = torch.conv2d(u, self.b, None, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.cat([v, u, v], 1)\n");
  const Tensor x = random_tensor({1, 4, 6, 6}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 conv_nhwc_f32 copy_strided");
}

TEST(LowerJoin, MostOfWhatIsJoinedSaysHowItLies) {
  // A plane by itself lies as an image and as planes.
  Case planes({}, "    y = torch.relu(x)\n    return torch.cat([y, torch.sigmoid(y)], 1)\n");
  const Tensor plane = random_tensor({2, 1, 6, 5});
  planes.check({plane});
  EXPECT_EQ(planes.kernels({plane}),
            "activation_rows_f32 activation_rows_f32 copy_strided copy_strided");
  Case mixed({{"a", random_tensor({4, 3, 1, 1})}},
             "    y = torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1)\n"
             "    return torch.conv2d(torch.cat([x, y], 1), torch.ones([2, 7, 3, 3]))\n");
  const Tensor x = random_tensor({2, 3, 6, 5});
  mixed.check({x}, 1e-5);
  EXPECT_EQ(mixed.kernels({x}),
            "copy_strided conv_nhwc_f32 copy_strided conv_nhwc_f32 copy_strided");
}

// The list of sizes leaves the segment, and whoever gets it may change it.
TEST(LowerJoin, ListsOfNumbersMayLeave) {
  Case c({},
         "    y = torch.relu(x)\n"
         "    sizes = torch.slice(torch.size(y), 1, None, 1)\n"
         "    z = torch.sigmoid(y)\n"
         "    _0 = torch.append(sizes, 2)\n"
         "    return torch.reshape(z, sizes)\n");
  const Tensor x = random_tensor({2, 3, 4});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "activation_rows_f32 activation_rows_f32");
}

// As in a DenseNet: every concatenation begins with the one before.
TEST(LowerJoin, ConcatenationsGrow) {
  Case c({{"a", random_tensor({4, 4, 1, 1})},
          {"b", random_tensor({3, 4, 3, 3})},
          {"c", random_tensor({5, 7, 3, 3})},
          {"s", random_tensor({7})}},
         "    u = torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    v = torch.conv2d(torch.cat([u], 1), self.b, None, [1, 1], [1, 1], [1, 1], 1)\n"
         "    n = torch.batch_norm(torch.cat([u, v], 1), self.s, self.s, self.s, self.s * self.s, "
         "False, 0.1, 1e-5, True)\n"
         "    w = torch.conv2d(n, self.c, None, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.cat([torch.cat([u, v, w], 1), torch.cat([v, u, w], 1)], 1)\n");
  const Tensor x = random_tensor({2, 4, 6, 5}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}),
            "conv_nhwc_f32 conv_nhwc_f32 scale_shift_rows_f32 conv_nhwc_f32 copy_strided "
            "copy_strided copy_strided copy_strided");
}

}  // namespace
}  // namespace torchlet::cpu
