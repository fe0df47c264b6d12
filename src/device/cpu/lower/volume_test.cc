// Convolutions, pooling and resizing of volumes in plans, against the reference, and which kernels
// ran.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "device/cpu/testing.h"

namespace torchlet::cpu {
namespace {

TEST(LowerVolume, VolumesAreConvolvedAndWhatFollowsIsFused) {
  const Tensor w = random_tensor({6, 5, 3, 3, 3}), b = random_tensor({6});
  const Tensor wide = random_tensor({17, 16, 3, 3, 3}), up = random_tensor({6, 4, 2, 2, 2});
  const Tensor x = random_tensor({2, 5, 4, 5, 17});
  const std::string conv =
      "    y = torch.conv3d(x, self.w, self.b, [1, 1, 1], [1, 1, 1], [1, 1, 1], 1)\n";
  const auto check = [](Case& c, const Tensor& input, const char* kernels) {
    EXPECT_EQ(c.kernels({input}), kernels);
    c.check({input});
    EXPECT_EQ(c.by_reference(), "");
  };
  Case fused({{"w", w}, {"b", b}}, conv +
                                       "    z = torch.leaky_relu(y, 0.1)\n"
                                       "    y1 = torch.conv3d(x, self.w, None, [1, 1, 1], "
                                       "[1, 1, 1], [1, 1, 1], 1)\n"
                                       "    return torch.relu(torch.add(y1, z))\n");
  check(fused, x, "copy_strided conv3d_nhwc_f32 conv3d_nhwc_f32 copy_strided");
  Case norm({{"w", w}, {"b", b}, {"slopes", random_tensor({6})}},
            conv +
                "    z = torch.instance_norm(y, None, None, None, None, True, 0.1, 1e-05, True)\n"
                "    return torch.prelu(z, self.slopes)\n");
  check(norm, x, "copy_strided conv3d_nhwc_f32 group_norm_nhwc_f32 binary_rows_f32 copy_strided");
  // Both parts lie where they are joined.
  Case joined({{"w", w}, {"b", b}, {"up", up}},
              conv +
                  "    z = torch.conv_transpose3d(y, self.up, None, [2, 2, 2], [0, 0, 0], "
                  "[0, 0, 0], 1, [1, 1, 1])\n"
                  "    z1 = torch.upsample_trilinear3d(y, [8, 10, 34], False)\n"
                  "    return torch.mean(torch.cat([z, z1], 1), [2, 3, 4])\n");
  check(joined, x,
        "copy_strided conv3d_nhwc_f32 conv_transpose3d_nhwc_f32 resize_linear_nhwc_f32 "
        "resize_linear_nhwc_f32 global_avg_pool_nhwc_f32");
  Case winograd({{"w", wide}},
                "    return torch.conv3d(x, self.w, None, [1, 1, 1], \"same\", [1, 1, 1], 1)\n");
  check(winograd, random_tensor({1, 16, 5, 9, 12}), "copy_strided conv3d_nhwc_f32 copy_strided");
}

TEST(LowerVolume, VolumesAreImagesWhereTheWindowIsFlat) {
  const Tensor x = random_tensor({2, 4, 5, 6, 7});
  for (const auto& [kernel, padding] :
       {std::pair{IntArray{1, 3, 3}, "[0, 1, 1]"}, std::pair{IntArray{3, 1, 1}, "[1, 0, 0]"},
        std::pair{IntArray{1, 1, 1}, "[0, 0, 0]"}}) {
    const std::string stride = padding[1] == '1' ? "[2, 1, 1]" : "[1, 1, 1]";
    const std::string window = stride + ", " + padding + ", [1, 1, 1], ";
    const auto program = [&window](const char* groups) {
      return "    return torch.relu(torch.conv3d(x, self.w, None, " + window + groups + "))\n";
    };
    Case dense({{"w", random_tensor({6, 4, kernel[0], kernel[1], kernel[2]})}}, program("1"));
    const bool is_pointwise = kernel == IntArray{1, 1, 1};
    EXPECT_EQ(dense.kernels({x}),
              is_pointwise ? "pointwise_planes_f32" : "copy_strided conv_nhwc_f32 copy_strided");
    dense.check({x});
    Case depthwise({{"w", random_tensor({4, 1, kernel[0], kernel[1], kernel[2]})}}, program("4"));
    EXPECT_EQ(depthwise.kernels({x}), "copy_strided dwconv_nhwc_f32 copy_strided");
    depthwise.check({x});
  }
}

TEST(LowerVolume, PoolingAndResizingOfVolumes) {
  const std::string pixels =
      "    y = torch.conv3d(x, self.w, None, [1, 1, 1], [0, 0, 0], "
      "[1, 1, 1], 1)\n    return ";
  const Tensor x = random_tensor({2, 3, 6, 7, 8});
  for (const auto& [call, kernel] :
       {std::pair{"torch.max_pool3d(y, [3, 2, 3], [2, 2, 1], [1, 0, 1], [1, 2, 1], True)",
                  "max_pool_nhwc_f32 max_pool_nhwc_f32"},
        std::pair{"torch.avg_pool3d(y, [2, 3, 3], [2, 2, 2], [1, 1, 0], True, True, None)",
                  "avg_pool_nhwc_f32 avg_pool_nhwc_f32"},
        std::pair{"torch.avg_pool3d(y, [2, 3, 3], [1, 2, 2], [1, 1, 0], False, False, None)",
                  "avg_pool_nhwc_f32 avg_pool_nhwc_f32"},
        std::pair{"torch.adaptive_avg_pool3d(y, [1, 1, 1])", "global_avg_pool_nhwc_f32"},
        std::pair{"torch.avg_pool3d(y, [3, 1, 1], [1, 1, 1], [1, 0, 0])", "avg_pool_nhwc_f32"},
        std::pair{"torch.upsample_trilinear3d(y, [9, 7, 4], True)",
                  "resize_linear_nhwc_f32 resize_linear_nhwc_f32"},
        std::pair{"torch.upsample_nearest3d(y, [12, 5, 8])",
                  "resize_nearest_nhwc resize_nearest_nhwc"},
        std::pair{"torch.upsample_nearest3d(y, [6, 14, 16])", "resize_nearest_nhwc"}}) {
    SCOPED_TRACE(call);
    Case c({{"w", random_tensor({5, 3, 1, 1, 1})}}, pixels + call + "\n");
    const std::string all = c.kernels({x});
    EXPECT_TRUE(all.starts_with("copy_strided conv_nhwc_f32 " + std::string(kernel))) << all;
    c.check({x});
  }
}

}  // namespace
}  // namespace torchlet::cpu
