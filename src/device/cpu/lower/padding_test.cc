// Padding in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "device/cpu/testing.h"

namespace torchlet::cpu {
namespace {

TEST(LowerPadding, ZerosAroundAnImageArePaddingOfTheConvolution) {
  for (const auto& [weight, groups, kernel] :
       {std::tuple(IntArray{16, 3, 3, 3}, 1, "conv_nhwc_f32"),
        std::tuple(IntArray{8, 1, 3, 3}, 8, "dwconv_nhwc_f32"),
        std::tuple(IntArray{64, 64, 3, 3}, 1, "conv_nhwc_f32")}) {
    const Tensor x = random_tensor({2, weight[1] * groups, 13, 10});
    for (const char* stride : {"1", "2"}) {
      Case c({{"w", random_tensor(weight)}, {"b", random_tensor({weight[0]})}},
             "    y = torch.constant_pad_nd(x, [0, 1, 2, 4], 0)\n"
             "    return torch.conv2d(y, self.w, self.b, [" +
                 std::string(stride) + ", " + stride + "], [0, 1], [1, 1], " +
                 std::to_string(groups) + ")\n");
      c.check({x});
      const Tensor nhwc = x.contiguous(MemoryFormat::kChannelsLast);
      c.check({nhwc});
      EXPECT_EQ(c.kernels({nhwc}), kernel);
    }
  }
  // Neither is a line that is padded in two dimensions, nor what surrounds others than zeros.
  Case line({{"w", random_tensor({4, 6, 3})}},
            "    y = torch.constant_pad_nd(x, [1, 2, 1, 2], 0)\n"
            "    return torch.conv1d(y, self.w, None, [1], [0], [1], 1)\n");
  line.check({random_tensor({2, 3, 9})});
  Case ones({{"w", random_tensor({4, 3, 3, 3})}},
            "    y = torch.constant_pad_nd(x, [1, 2, 1, 2], 1)\n"
            "    return torch.conv2d(y, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n");
  const Tensor x = random_tensor({2, 3, 9, 8}).contiguous(MemoryFormat::kChannelsLast);
  ones.check({x});
  EXPECT_EQ(ones.kernels({x}), "pad_nhwc conv_nhwc_f32");
}

TEST(LowerPadding, BordersAndValuesAroundTensors) {
  const auto check = [](const std::string& call, const Tensor& x, const std::string& kernels) {
    SCOPED_TRACE(call);
    Case c({}, "    return torch.neg(torch." + call + ")\n");
    c.check({x});
    EXPECT_EQ(c.kernels({x}), kernels);
    EXPECT_EQ(c.by_reference(), "");
  };
  const Tensor image = random_tensor({2, 3, 6, 5}).contiguous(MemoryFormat::kChannelsLast);
  for (const char* call :
       {"reflection_pad2d(x, [4, 1, 0, 5])", "replication_pad2d(x, [9, 0, 1, 2])",
        "pad(x, [1, 2, 2, 1], \"reflect\")", "pad(x, [1, 2, 2, 1], \"replicate\")",
        "pad(x, [5, 2, 2, 6], \"circular\")", "pad(x, [2, 1])"}) {
    check(call, image, "pad_nhwc unary_rows_f32");
  }
  const Tensor line = random_tensor({2, 3, 9});
  for (const char* call : {"reflection_pad1d(x, [8, 1])", "replication_pad1d(x, [2, 3])",
                           "constant_pad_nd(x, [2, 3], 0.5)"}) {
    check(call, line, "copy_strided pad_nhwc unary_rows_f32 copy_strided");
  }
  // Nothing at all.
  for (const char* call : {"pad(x, [0, 0, 0, 0], \"replicate\")", "pad(x, [0, 0])",
                           "constant_pad_nd(x, [0, 0, 0, 0, 0, 0], 1)"}) {
    check(call, image, "unary_rows_f32");
  }
  Case same({}, "    return torch.pad(x, [0, 0, 0, 0], \"reflect\")\n");
  same.check({image});
  // Channels, more than two dimensions, and less than there was.
  check("pad(x, [0, 0, 0, 0, 2, 1])", image,
        "copy_strided copy_strided copy_strided unary_rows_f32");
  check("constant_pad_nd(x, [1, 0, 0, 2, 0, 3, 1, 1], 2)", image,
        "copy_strided copy_strided copy_strided copy_strided copy_strided copy_strided "
        "unary_rows_f32");
  check("constant_pad_nd(x, [-1, 2, 0, -3], 2)", image, "copy_strided copy_strided unary_rows_f32");
  check("constant_pad_nd(x, [0, 0, 1, 2], 0)", line,
        "copy_strided copy_strided copy_strided unary_rows_f32");
  // Zeros before a line are padding of its convolution.
  Case causal({{"w", random_tensor({4, 3, 3})}},
              "    y = torch.constant_pad_nd(x, [4, 0], 0)\n"
              "    return torch.conv1d(y, self.w, None, [1], [0], [2], 1)\n");
  causal.check({line});
  EXPECT_EQ(causal.kernels({line}), "conv_nhwc_f32 copy_strided");
}

TEST(LowerPadding, PaddingByNameIsPaddingOfTheConvolution) {
  struct Layer {
    IntArray weight;
    int64_t groups;
    const char *arguments, *kernel;
  };
  for (const Layer& layer :
       {Layer{{8, 3, 3, 3}, 1, "[1, 1], \"same\", [1, 1]", "conv_nhwc_f32"},
        Layer{{8, 3, 4, 2}, 1, "[1, 1], \"same\", [2, 1]", "conv_nhwc_f32"},
        Layer{{8, 1, 2, 7}, 8, "[1, 1], \"same\", [1, 1]", "dwconv_nhwc_f32"},
        Layer{{8, 3, 2, 3}, 1, "[2, 1], \"valid\", [1, 2]", "conv_nhwc_f32"}}) {
    for (const char* name : {"conv2d", "_convolution_mode"}) {
      Case c({{"w", random_tensor(layer.weight)}}, "    return torch." + std::string(name) +
                                                       "(x, self.w, None, " + layer.arguments +
                                                       ", " + std::to_string(layer.groups) + ")\n");
      const Tensor x = random_tensor({2, layer.weight[1] * layer.groups, 9, 10});
      c.check({x});
      const Tensor nhwc = x.contiguous(MemoryFormat::kChannelsLast);
      c.check({nhwc});
      EXPECT_EQ(c.kernels({nhwc}), layer.kernel) << name;
    }
  }
  // Of lines, and of volumes, which stay with the reference.
  for (const char* width : {"3", "4"}) {
    Case line({{"w", random_tensor({4, 6, std::stoi(width)})}},
              "    return torch.conv1d(x, self.w, None, [1], \"same\", [2], 1)\n");
    line.check({random_tensor({2, 6, 9})});
  }
  Case volume({{"w", random_tensor({4, 2, 3, 2, 3})}},
              "    return torch.conv3d(x, self.w, None, [1, 1, 1], \"same\", [1, 1, 1], 1)\n");
  volume.check({random_tensor({1, 2, 4, 5, 6})});
}

}  // namespace
}  // namespace torchlet::cpu
