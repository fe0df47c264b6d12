// Plans against the reference: the same programs through both, and which kernels ran.
#include "device/cpu/testing.h"
#include "kernels/half/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <thread>

#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

TEST(Plan, ConvolutionsTakeBiasActivationAndResidual) {
  Case c({{"w", random_tensor({8, 8, 3, 3})}, {"b", random_tensor({8})}},
         "    y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.relu(torch.add(y, x))\n");
  const Tensor x = random_tensor({2, 8, 7, 9});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "copy_strided conv_nhwc_f32 copy_strided");
  // The caller's own layout needs no copies.
  const Tensor nhwc = x.contiguous(MemoryFormat::kChannelsLast);
  c.check({nhwc});
  EXPECT_EQ(c.kernels({nhwc}), "conv_nhwc_f32");
  EXPECT_TRUE(c.planned({nhwc}).to_tensor().is_contiguous(MemoryFormat::kChannelsLast));
}

TEST(Plan, ZerosAroundAnImageArePaddingOfTheConvolution) {
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

TEST(Plan, SeveralOutputsOfEachChannel) {
  for (const auto& [outputs, stride] : {std::pair(12, 2), std::pair(24, 1)}) {
    Case c({{"w", random_tensor({outputs, 1, 3, 3})}, {"b", random_tensor({outputs})}},
           "    return torch.conv2d(x, self.w, self.b, [" + std::to_string(stride) +
               ", 1], [1, 0], [1, 1], 6)\n");
    const Tensor x = random_tensor({2, 6, 9, 7});
    for (const Tensor& image : {x, x.contiguous(MemoryFormat::kChannelsLast)}) {
      c.check({image});
      EXPECT_NE(c.kernels({image}).find("dwconv"), std::string::npos) << c.kernels({image});
    }
  }
  Case line({{"w", random_tensor({8, 1, 3})}},
            "    return torch.conv1d(x, self.w, None, [1], [1], [1], 4)\n");
  line.check({random_tensor({2, 4, 11})});
}

// What only moves pixels makes no image of them, unless something here reads the result.
TEST(Plan, PlanesWhosePixelsAreOnlyMovedStayPlanes) {
  const Tensor line = random_tensor({2, 3, 9}), image = random_tensor({2, 3, 6, 5});
  for (const auto& [call, x] : {std::pair{"reflection_pad1d(x, [8, 1])", line},
                                std::pair{"replication_pad2d(x, [9, 0, 1, 2])", image},
                                std::pair{"upsample_nearest2d(x, [9, 11])", image}}) {
    SCOPED_TRACE(call);
    Case alone({}, "    return torch." + std::string(call) + "\n");
    alone.check({x});
    EXPECT_EQ(alone.kernels({x}).find("nhwc"), std::string::npos);
    Case read({}, "    return torch.neg(torch." + std::string(call) + ")\n");
    read.check({x});
    EXPECT_NE(read.kernels({x}).find("nhwc"), std::string::npos);
  }
}

TEST(Plan, BordersAndValuesAroundTensors) {
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

TEST(Plan, TheResidualGoesToTheLaterOfTwoConvolutions) {
  Case c({{"a", random_tensor({4, 6, 1, 1})}, {"b", random_tensor({4, 6, 3, 3})}},
         "    u = torch.conv2d(x, self.a, None, [2, 2], [0, 0], [1, 1], 1)\n"
         "    v = torch.conv2d(x, self.b, None, [2, 2], [1, 1], [1, 1], 1)\n"
         "    return torch.sigmoid(torch.add(u, v))\n");
  const Tensor x = random_tensor({1, 6, 9, 9}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 conv_nhwc_f32");
}

TEST(Plan, StackedTensorsAreComputedInTheirPlaces) {
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

TEST(Plan, NumbersAreCutToIntegersByAKernel) {
  Case c({}, "    return torch.trunc(torch.mul(x, 10))\n");
  const Tensor x = random_tensor({3, 37});
  c.check({x}, 0);
  EXPECT_EQ(c.kernels({x}), "affine_rows_f32 unary_rows_f32");
}

TEST(Plan, ProgramsRoundToFloat16ByAKernel) {
  Case c({{"w", random_tensor({4, 3, 1, 1})}},
         "    y = torch.to(torch.to(x, 5), 6)\n"
         "    y = torch.conv2d(y, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    return torch.to(y, 5)\n");
  const Tensor x = random_tensor({2, 3, 5, 7}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  if (!kernels::has_float16()) GTEST_SKIP() << "this processor has no float16 arithmetic";
  EXPECT_EQ(c.kernels({x}), "convert convert conv_nhwc_f32 convert");
  EXPECT_EQ(c.planned({x}).to_tensor().dtype(), DType::kFloat16);
}

TEST(Plan, AValueWithTwoReadersIsNotFused) {
  Case c({{"w", random_tensor({4, 4, 1, 1})}},
         "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    return torch.mul(torch.relu(y), y)\n");
  const Tensor x = random_tensor({1, 4, 5, 5}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 activation_rows_f32 binary_rows_f32");
}

TEST(Plan, PreluIsAFunctionOfChannels) {
  Case c({{"w", random_tensor({6, 4, 1, 1})}, {"s", random_tensor({6})}},
         "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    return torch.prelu(y, self.s)\n");
  const Tensor x = random_tensor({2, 4, 5, 5}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 binary_rows_f32");
  Case one({{"w", random_tensor({6, 4, 1, 1})}, {"s", random_tensor({1})}},
           "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
           "    return torch.prelu(y, self.s)\n");
  one.check({x});
  EXPECT_EQ(one.kernels({x}), "conv_nhwc_f32");
  Case rows({{"s", random_tensor({7})}}, "    return torch.prelu(x, self.s)\n");
  rows.check({random_tensor({3, 7})});
  Case planes({{"s", random_tensor({3})}}, "    return torch.prelu(x, self.s)\n");
  for (const IntArray& sizes : {IntArray{2, 3, 4, 5, 6}, IntArray{2, 3, 5, 7}, IntArray{2, 3, 4}}) {
    planes.check({random_tensor(sizes)});
    EXPECT_EQ(planes.kernels({random_tensor(sizes)}), "binary_rows_f32");
  }
}

TEST(Plan, OneNumberForEachPlane) {
  Case c({}, "    return torch.sub(x, z)\n", "x: Tensor, z: Tensor");
  for (const IntArray& sizes :
       {IntArray{2, 3, 1, 1}, IntArray{3, 1, 1}, IntArray{2, 1, 1, 1}, IntArray{2, 3, 4, 1},
        IntArray{2, 1, 4, 1}, IntArray{2, 3, 1, 5}, IntArray{2, 3, 4, 5}}) {
    c.check({random_tensor({2, 3, 4, 5}), random_tensor(sizes)});
  }
  EXPECT_EQ(c.kernels({random_tensor({2, 3, 4, 5}), random_tensor({2, 3, 1, 1})}),
            "binary_rows_f32");
  c.check({random_tensor({3, 0, 4}), random_tensor({3, 0, 1})});
}

TEST(Plan, PaddingByNameIsPaddingOfTheConvolution) {
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

TEST(Plan, StepsThatCallTheReferenceSayWhy) {
  Case c({{"w", random_tensor({4, 2, 3, 3, 3})}},
         "    y = torch._convolution(x, self.w, None, [1, 1, 1], [3, 1, 1], [1, 1, 1], False, "
         "[0, 0, 0], 1, False, False, True, True)\n"
         "    return torch.relu(y)\n");
  const Tensor volume = random_tensor({1, 2, 4, 5, 6});
  EXPECT_EQ(c.kernels({volume}), "aten::_convolution activation_rows_f32");
  c.check({volume});
  EXPECT_EQ(c.by_reference(), "aten::_convolution: an unusual window; ");
  Case image({{"w", random_tensor({4, 2, 3, 3})}},
             "    return torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 1)\n");
  image.check({random_tensor({1, 2, 5, 6})});
  EXPECT_EQ(image.by_reference(), "");
}

TEST(Plan, OneCallOfTheReferenceIsNoneIfItGivesMuch) {
  const std::string body = "    return torch.add(x, x)\n";
  Case small({}, body), large({}, body);
  small.check({random_tensor({8191}, -9, 9).to(DType::kInt64)}, 0);
  EXPECT_TRUE(small.ran_as_plan());
  large.check({random_tensor({8192}, -9, 9).to(DType::kInt64)}, 0);
  EXPECT_FALSE(large.ran_as_plan());
}

TEST(Plan, ResultsLieAsTheProgramHasThem) {
  Case c({}, "    return torch.ceil(torch.relu(x))\n");
  const Tensor x = ops::permute(random_tensor({3, 4, 5}), IntArray{2, 0, 1});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "activation_rows_f32 unary_rows_f32");
  EXPECT_EQ(IntArray(c.planned({x}).to_tensor().strides()), IntArray(x.strides()));
}

TEST(Plan, WhatIsAddedIsScaled) {
  const Tensor x = random_tensor({2, 3, 4}), y = random_tensor({3, 1}),
               z = random_tensor({4}, 1, 2);
  const auto check = [&](const std::string& call, const std::string& kernels) {
    Case c({{"y", y}, {"z", z}}, "    return torch." + call + "\n");
    c.check({x});
    EXPECT_EQ(c.kernels({x}), kernels) << call;
  };
  check("add(x, torch.mul(x, self.z), alpha=0.3)",
        "binary_rows_f32 affine_rows_f32 binary_rows_f32");
  check("sub(x, torch.mul(x, self.z), alpha=-2)",
        "binary_rows_f32 affine_rows_f32 binary_rows_f32");
  check("addcmul(x, x, self.z)", "binary_rows_f32 binary_rows_f32");
  check("addcmul(self.z, self.y, x, value=0.5)",
        "broadcast_rows_f32 affine_rows_f32 binary_rows_f32");
  check("addcdiv(x, x, self.z, value=-3)", "binary_rows_f32 affine_rows_f32 binary_rows_f32");
}

TEST(Plan, SoftmaxReadsMemoryAsItLies) {
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

TEST(Plan, RollingCopiesParts) {
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

TEST(Plan, GroupsOfChannelsAreNormalized) {
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

TEST(Plan, RowsAreNormalizedByWhatWasLearned) {
  Case c({{"w", random_tensor({7})}, {"v", random_tensor({7}, 0.5F, 2)}},
         "    y = torch.batch_norm(x, self.w, None, self.w, self.v, False, 0.1, 1e-05, True)\n"
         "    return torch.relu(y)\n");
  const Tensor rows = random_tensor({5, 7});
  c.check({rows});
  EXPECT_EQ(c.kernels({rows}), "scale_shift_rows_f32");
  c.check({ops::transpose(random_tensor({7, 5}), 0, 1)});
}

TEST(Plan, PlanesAreNormalizedAndAveragedAsTheyLie) {
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

TEST(Plan, SmallGroupsAreConvolvedLikeChannels) {
  for (const auto& [groups, group] :
       {std::pair(8, 4), std::pair(2, 16), std::pair(15, 3), std::pair(3, 12), std::pair(5, 8)}) {
    const int64_t channels = groups * group;
    Case c({{"w", random_tensor({channels, group, 3, 3})}},
           "    y = torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], " +
               std::to_string(groups) + ")\n    return torch.relu(y)\n");
    const Tensor x = random_tensor({2, channels, 6, 7}).contiguous(MemoryFormat::kChannelsLast);
    c.check({x});
    EXPECT_EQ(c.kernels({x}), "group_conv_nhwc_f32");
  }
  Case wide({{"w", random_tensor({32, 16, 5, 5})}},
            "    return torch.conv2d(x, self.w, None, [1, 1], [2, 2], [1, 1], 2)\n");
  const Tensor two = random_tensor({1, 32, 6, 7}).contiguous(MemoryFormat::kChannelsLast);
  wide.check({two});
  EXPECT_EQ(wide.kernels({two}), "group_conv_nhwc_f32");
  // One group of all channels, too, but where Winograd is faster.
  for (const auto& [channels, kernel] :
       {std::pair(16, "group_conv_nhwc_f32"), std::pair(32, "conv_nhwc_f32")}) {
    Case c({{"w", random_tensor({channels, channels, 3, 3})}},
           "    return torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 1)\n");
    const Tensor x = random_tensor({1, channels, 28, 28}).contiguous(MemoryFormat::kChannelsLast);
    c.check({x});
    EXPECT_EQ(c.kernels({x}), kernel);
  }
}

TEST(Plan, DepthwiseGroupedDilatedAndOneDimensional) {
  for (const IntArray& weight :
       {IntArray{6, 1, 3, 3}, IntArray{12, 1, 3, 3}, IntArray{6, 2, 3, 3}}) {
    const std::string groups = weight[1] == 1 ? "6" : "3";
    Case c({{"w", random_tensor(weight)}},
           "    return torch.conv2d(x, self.w, None, [1, 2], [2, 1], [2, 1], " + groups + ")\n");
    c.check({random_tensor({2, 6, 8, 7})});
  }
  Case line({{"w", random_tensor({5, 3, 4})}, {"b", random_tensor({5})}},
            "    return torch.relu(torch.conv1d(x, self.w, self.b, [2], [1], [1], 1))\n");
  const Tensor waves = random_tensor({2, 3, 11});
  line.check({waves});
  EXPECT_EQ(line.kernels({waves}), "conv_nhwc_f32 copy_strided");
  Case channels({{"w", random_tensor({6, 1, 5})}},
                "    return torch.relu(torch.conv1d(x, self.w, None, [1], [2], [1], 6))\n");
  const Tensor six = random_tensor({2, 6, 11});
  channels.check({six});
  EXPECT_EQ(channels.kernels({six}), "dwconv_planes_f32");
}

TEST(Plan, DepthwiseLayersReadAndWritePlanes) {
  const auto layer = [](const std::string& to, const std::string& from, const std::string& groups) {
    return "    " + to + " = torch.conv2d(" + from + ", self.w, self.b, [1, 1], [1, 1], [1, 1], " +
           groups + ")\n";
  };
  const auto weights = [](int64_t group) {
    return std::vector<std::pair<std::string, Tensor>>{{"w", random_tensor({32, group, 3, 3})},
                                                       {"b", random_tensor({32})}};
  };
  const Tensor x = random_tensor({2, 32, 6, 7});
  Case alone(weights(1), layer("y", "x", "32") + "    return torch.relu(y)\n");
  alone.check({x});
  EXPECT_EQ(alone.kernels({x}), "dwconv_planes_f32");
  Case grouped(weights(4), layer("y", "x", "8") + "    return y\n");
  grouped.check({x});
  EXPECT_EQ(grouped.kernels({x}), "group_conv_planes_f32");
  Case two(weights(1),
           layer("y", "x", "32") + layer("z", "torch.relu(y)", "32") + "    return z\n");
  two.check({x});
  EXPECT_EQ(two.kernels({x}), "dwconv_planes_f32 dwconv_planes_f32");
  // Somebody else reads the image, or the sum with another one is part of the layer.
  Case shared(weights(1), layer("y", "x", "32") + layer("z", "x", "32") +
                              "    return torch.mul(torch.relu(y), torch.sigmoid(z))\n");
  shared.check({x});
  EXPECT_EQ(shared.kernels({x}).find("copy_strided dwconv_nhwc_f32"), 0u);
  Case residual(weights(1), layer("y", "x", "32") + "    return torch.add(y, x)\n");
  residual.check({x});
  EXPECT_EQ(residual.kernels({x}), "copy_strided dwconv_nhwc_f32 copy_strided");
}

TEST(Plan, PointwiseLayersOfFewChannelsReadAndWritePlanes) {
  const auto layer = [](int64_t in, int64_t out, const IntArray& window) {
    IntArray sizes{out, in};
    for (const int64_t size : window) sizes.push_back(size);
    const std::string dims = std::to_string(window.size());
    const auto list = [&](const std::string& value) {
      std::string text = value;
      for (size_t i = 1; i < window.size(); ++i) text += ", " + value;
      return "[" + text + "]";
    };
    return Case({{"w", random_tensor(sizes)}, {"b", random_tensor({out})}},
                "    return torch.relu(torch.conv" + dims + "d(x, self.w, self.b, " + list("1") +
                    ", " + list("0") + ", " + list("1") + ", 1))\n");
  };
  for (const int64_t out : {2, 16, 17, 33, 64, 150}) {
    Case images = layer(29, out, {1, 1});
    const Tensor x = random_tensor({2, 29, 7, 9});
    images.check({x});
    EXPECT_EQ(images.kernels({x}), "pointwise_planes_f32") << out;
  }
  Case padded({{"w", random_tensor({5, 6, 1, 1})}},
              "    y = torch.constant_pad_nd(x, [0, 1, 0, 2], 0)\n"
              "    return torch.conv2d(y, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n");
  const Tensor small = random_tensor({2, 6, 4, 3});
  padded.check({small});
  EXPECT_EQ(padded.kernels({small}), "copy_strided conv_nhwc_f32 copy_strided");
  Case volumes = layer(6, 5, {1, 1, 1});
  const Tensor volume = random_tensor({2, 6, 3, 4, 5});
  volumes.check({volume});
  EXPECT_EQ(volumes.kernels({volume}), "pointwise_planes_f32");
  Case lines = layer(6, 5, {1});
  const Tensor line = random_tensor({3, 6, 11});
  lines.check({line});
  EXPECT_EQ(lines.kernels({line}), "pointwise_planes_f32");
  Case many = layer(600, 110, {1, 1});
  const Tensor wide = random_tensor({1, 600, 4, 4});
  many.check({wide});
  EXPECT_EQ(many.kernels({wide}), "copy_strided conv_nhwc_f32 copy_strided");
}

TEST(Plan, GatesAndOuterProducts) {
  const auto permuted = [](const Tensor& t) { return ops::permute(t, IntArray{0, 2, 3, 1}); };
  for (const char* dim : {"0", "1", "-1"}) {
    Case gated({}, std::string("    return torch.glu(x, ") + dim + ")\n");
    for (const Tensor& x :
         {random_tensor({2, 6, 4}), random_tensor({4, 4, 3, 6}), random_tensor({6, 2, 4190}),
          permuted(random_tensor({2, 6, 4, 10})), permuted(random_tensor({2, 2, 18, 10}))}) {
      gated.check({x});
      EXPECT_EQ(gated.kernels({x}), "glu_rows_f32") << x.describe() << " dim " << dim;
    }
    const Tensor part = ops::narrow(random_tensor({4, 4, 3, 7}), 3, 1, 6);
    gated.check({part});
    EXPECT_TRUE(gated.kernels({part}).ends_with("glu_rows_f32")) << dim;
  }
  Case outer({}, "    return torch.outer(x, y)\n", "x: Tensor, y: Tensor");
  const Tensor a = random_tensor({5}), b = random_tensor({19});
  outer.check({a, b});
  EXPECT_EQ(outer.kernels({a, b}), "broadcast_rows_f32");
}

TEST(Plan, OperandsAreSpreadOverEachOther) {
  const auto permuted = [](const Tensor& t) { return ops::permute(t, IntArray{1, 0, 2, 3}); };
  for (const auto& [a, b] :
       {std::pair(random_tensor({3, 4, 5, 7}), random_tensor({4, 5, 7})),  // a bias of attention
        std::pair(random_tensor({2, 3, 4, 5, 5}), random_tensor({3, 1, 5, 5})),  // and a mask
        std::pair(random_tensor({3, 1, 5, 6}), random_tensor({2, 1, 6})),
        std::pair(random_tensor({6, 1}), random_tensor({1, 9})),
        std::pair(random_tensor({1, 4, 1, 3}), random_tensor({2, 1, 3, 1})),
        std::pair(permuted(random_tensor({4, 2, 3, 5})), random_tensor({1, 4, 3, 1})),
        std::pair(ops::transpose(random_tensor({2, 7, 3}), 1, 2), random_tensor({3, 7})),
        std::pair(random_tensor({64, 1, 33}), random_tensor({70, 1}))}) {
    for (const char* op : {"add", "sub", "mul", "div", "maximum"}) {
      SCOPED_TRACE(op);
      Case c({}, "    return torch.relu(torch." + std::string(op) + "(x, y))\n",
             "x: Tensor, y: Tensor");
      c.check({a, b});
      c.check({b, a});
      // What is permuted is copied when it leaves.
      EXPECT_NE(c.kernels({a, b}).find("broadcast_rows_f32"), std::string::npos);
    }
  }
}

// How the result lies is told by the operator on tensors without memory, next to a number that has.
TEST(Plan, NumbersOfOtherTypes) {
  for (const DType dtype : {DType::kFloat64, DType::kInt64, DType::kBool}) {
    Case c({{"w", ops::full({}, 1, dtype)}}, "    return torch.mul(x, self.w)\n");
    const Tensor x = random_tensor({2, 3, 4, 5});
    c.check({x});
    EXPECT_EQ(c.kernels({x}), "affine_rows_f32");
  }
}

TEST(Plan, DimensionsOfOneThatAreMissingChangeNothing) {
  Case c({}, "    return torch.add(x, y)\n", "x: Tensor, y: Tensor");
  const Tensor whole = random_tensor({1, 6, 4, 5}), part = random_tensor({6, 4, 5});
  const auto permuted = [](const Tensor& t) { return ops::transpose(t, -1, -3); };
  for (const auto& [a, b] : {std::pair(whole, part), std::pair(permuted(whole), permuted(part))}) {
    c.check({a, b});
    c.check({b, a});
    EXPECT_TRUE(c.kernels({a, b}).starts_with("binary_rows_f32")) << c.kernels({a, b});
  }
}

// The images of a volume of one channel have other channels.
TEST(Plan, AnImageIsSpreadOverAVolume) {
  Case c({}, "    return torch.add(x, y)\n", "x: Tensor, y: Tensor");
  const Tensor image = random_tensor({1, 4, 4, 3}).contiguous(MemoryFormat::kChannelsLast);
  c.check({random_tensor({1, 1, 4, 4, 3}), image});
  EXPECT_EQ(c.kernels({random_tensor({1, 1, 4, 4, 3}), image}), "copy_strided binary_rows_f32");
}

// The gate of ECA-Net: what is expanded before it is multiplied is not copied.
TEST(Plan, ExpandedOperandsAreSpread) {
  const Tensor x = random_tensor({2, 8, 5, 3}).contiguous(MemoryFormat::kChannelsLast);
  const Tensor gate = random_tensor({2, 8, 1, 1}), row = random_tensor({3});
  for (const char* product :
       {"torch.mul(x, torch.expand_as(g, x))", "torch.mul(torch.expand_as(g, x), x)"}) {
    Case c({}, "    return " + std::string(product) + "\n", "x: Tensor, g: Tensor");
    c.check({x, gate});
    EXPECT_EQ(c.kernels({gate, x}), "binary_rows_f32");  // in the order of use
    c.check({x, row});
  }
  Case both({}, "    return torch.sub(torch.expand(x, [2, 4, 3]), torch.expand(g, [2, 4, 3]))\n",
            "x: Tensor, g: Tensor");
  both.check({random_tensor({4, 1}), random_tensor({2, 1, 1})});
  both.check({random_tensor({1, 3}), random_tensor({3})});
}

TEST(Plan, PowersAreProductsAndRoots) {
  const Tensor x = random_tensor({3, 7, 5});
  for (float& value : std::span(x.data_ptr<float>(), 105)) value = std::abs(value) + 0.1f;
  for (const auto& [exponent, kernels] :
       {std::pair("2", "unary_rows_f32"), std::pair("0.5", "unary_rows_f32"),
        std::pair("-0.5", "unary_rows_f32"), std::pair("-1", "unary_rows_f32"),
        std::pair("3.", "unary_rows_f32"), std::pair("1.5", "aten::pow")}) {
    SCOPED_TRACE(exponent);
    Case c({}, "    return torch.pow(x, " + std::string(exponent) + ")\n");
    c.check({x});
    EXPECT_EQ(c.kernels({x}), kernels);
  }
}

// Of XLNet, of MONAI's transformers, and with every order of dimensions.
TEST(Plan, EinsumIsAMatrixProduct) {
  struct Product {
    const char *equation, *kernels;
    IntArray a, b;
  };
  for (const Product& p : {
           Product{"ibnd,jbnd->bnij", "gemm_f32 unary_rows_f32", {5, 2, 3, 4}, {7, 2, 3, 4}},
           Product{"bnij,jbnd->ibnd", "gemm_f32 unary_rows_f32", {2, 3, 5, 7}, {7, 2, 3, 4}},
           Product{"blxd,blyd->blxy", "gemm_f32 unary_rows_f32", {2, 3, 5, 4}, {2, 3, 6, 4}},
           Product{"bhxy,bhyd->bhxd", "gemm_f32 unary_rows_f32", {2, 3, 5, 6}, {2, 3, 6, 4}},
           Product{"bhxy , bhyd -> dxhb",
                   "copy_strided copy_strided gemm_f32 unary_rows_f32",
                   {2, 3, 5, 6},
                   {2, 3, 6, 4}},
           Product{"nkctv,kvw->nctw",
                   "copy_strided gemm_f32 unary_rows_f32",
                   {2, 3, 4, 5, 6},
                   {3, 6, 7}},
           Product{"bi,bj->bij", "gemm_f32 unary_rows_f32", {2, 5}, {2, 3}},
           Product{"ab,ab->", "gemm_f32 unary_rows_f32", {4, 6}, {4, 6}},
           Product{"ijk,jk->i", "gemm_f32 unary_rows_f32", {4, 5, 6}, {5, 6}},
           Product{"i,j->ji", "gemm_f32 unary_rows_f32", {5}, {3}},
           Product{"bxd,byd->bxy", "gemm_f32 unary_rows_f32", {1, 1, 4}, {1, 3, 4}},
       }) {
    SCOPED_TRACE(p.equation);
    Case c({}, "    return torch.neg(torch.einsum(\"" + std::string(p.equation) + "\", [x, y]))\n",
           "x: Tensor, y: Tensor");
    c.check({random_tensor(p.a), random_tensor(p.b)});
    EXPECT_EQ(c.kernels({random_tensor(p.a), random_tensor(p.b)}), p.kernels);
  }
  // Weights are packed once, on whichever side.
  const Tensor x = random_tensor({5, 2, 6}), y = random_tensor({5, 2, 3, 4});
  for (const char* product : {"\"ibh,hnd->ibnd\", [x, self.w]", "\"hnd,ibh->dibn\", [self.w, x]"}) {
    Case layer({{"w", random_tensor({6, 3, 4})}},
               "    return torch.einsum(" + std::string(product) + ")\n");
    layer.check({x});
    EXPECT_EQ(layer.kernels({x}).substr(0, 13), "conv_nhwc_f32");
  }
  Case back({{"w", random_tensor({6, 3, 4})}},
            "    return torch.einsum(\"ibnd,hnd->ibh\", [x, self.w])\n");
  back.check({y});
  EXPECT_EQ(back.kernels({y}), "conv_nhwc_f32");
  for (const char* other : {"ii,ij->j", "...ij,...jk->...ik", "ij,jk", "ij,kj->i"}) {
    Case c({}, "    return torch.neg(torch.einsum(\"" + std::string(other) + "\", [x, y]))\n",
           "x: Tensor, y: Tensor");
    const Tensor a = random_tensor({4, 4});
    c.check({a, random_tensor({4, 4})});
    EXPECT_EQ(c.kernels({a, random_tensor({4, 4})}), "aten::einsum unary_rows_f32") << other;
  }
}

// The split attention of ResNeSt: views of images, sums over parts of the channels.
TEST(Plan, DimensionsStayInTheOrderOfMemory) {
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

TEST(Plan, Reductions) {
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

TEST(Plan, NumbersThatAreTensorsAreNumbers) {
  const Tensor x = random_tensor({2, 3, 4});
  for (const char* body :
       {"torch.mul(x, self.n)", "torch.mul(self.n, x)", "torch.sub(self.n, x)",
        "torch.sub(x, self.n, alpha=2)", "torch.div(self.n, x)", "torch.div(x, self.n)"}) {
    for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kInt64}) {
      SCOPED_TRACE(testing::Message() << body << " " << dtype_name(dtype));
      Case c({{"n", ops::full({}, Scalar(3), dtype)}}, "    return " + std::string(body) + "\n");
      c.check({x});
      EXPECT_EQ(c.by_reference(), "");
    }
  }
  // Of two of them the wider dtype wins.
  Case both({{"n", ops::full({}, Scalar(3), DType::kFloat64)}},
            "    return torch.mul(torch.sigmoid(x), self.n)\n");
  both.check({ops::full({}, Scalar(2), DType::kFloat32)});
}

TEST(Plan, InvertedResidualsRunInStrips) {
  // Large enough to pay: the wide image has 2.4 MB.
  Case c({{"a", random_tensor({96, 16, 1, 1})},
          {"b", random_tensor({96, 1, 3, 3})},
          {"c", random_tensor({16, 96, 1, 1})},
          {"d", random_tensor({16, 1, 3, 3})},
          {"e", random_tensor({24, 16, 1, 1})}},
         "    y = torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    y = torch.hardtanh(y, 0., 6.)\n"
         "    y = torch.conv2d(y, self.b, None, [1, 1], [1, 1], [1, 1], 96)\n"
         "    y = torch.hardtanh(y, 0., 6.)\n"
         "    y = torch.conv2d(y, self.c, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    return torch.add(x, y)\n");
  const Tensor x = random_tensor({1, 16, 80, 80}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "inverted_residual_f32");
  const Tensor small = random_tensor({1, 16, 8, 8}).contiguous(MemoryFormat::kChannelsLast);
  c.check({small});
  EXPECT_EQ(c.kernels({small}), "conv_nhwc_f32 dwconv_nhwc_f32 conv_nhwc_f32");
}

TEST(Plan, TransposedConvolution) {
  const Tensor x = random_tensor({2, 4, 5, 6});
  for (const int64_t groups : {1, 2}) {
    const int64_t columns = groups == 1 ? 19 : 16;
    const std::vector<std::pair<std::string, Tensor>> weights{
        {"w", random_tensor({4, columns, 3, 2})}, {"b", random_tensor({columns * groups})}};
    const std::string end = "    return torch.relu(y)\n", g = std::to_string(groups);
    Case scripted(weights,
                  "    y = torch.conv_transpose2d(x, self.w, self.b, [2, 1], [1, 0], [1, 0], " + g +
                      ", [1, 2])\n" + end);
    scripted.check({x});
    EXPECT_EQ(scripted.kernels({x}), "copy_strided conv_transpose_nhwc_f32 copy_strided");
    Case traced(weights,
                "    y = torch._convolution(x, self.w, self.b, [2, 1], [1, 0], [1, 2], True, "
                "[1, 0], " +
                    g + ", False, False, True, True)\n" + end);
    traced.check({x});
    EXPECT_EQ(traced.kernels({x}), "copy_strided conv_transpose_nhwc_f32 copy_strided");
  }
  // Few channels are left to the reference, unless the taps of a line have many together.
  Case depthwise({{"w", random_tensor({4, 1, 3, 2})}},
                 "    return torch.conv_transpose2d(x, self.w, None, [2, 1], [0, 0], [0, 0], 4)\n");
  depthwise.check({x});
  EXPECT_EQ(depthwise.by_reference(),
            "aten::conv_transpose2d: few channels of a transposed convolution; ");
  Case few({{"w", random_tensor({4, 3, 4, 4})}, {"b", random_tensor({3})}},
           "    y = torch.conv_transpose2d(x, self.w, self.b, [2, 2], [1, 1], [0, 0], 1)\n"
           "    return torch.tanh(y)\n");
  few.check({x});
  EXPECT_EQ(few.kernels({x}), "copy_strided conv_transpose_nhwc_f32 copy_strided");
  Case line({{"w", random_tensor({4, 17, 3})}, {"b", random_tensor({17})}},
            "    y = torch.conv_transpose1d(x, self.w, self.b, [3], [1], [2], 1, [2])\n"
            "    return torch.relu(y)\n");
  const Tensor waves = random_tensor({2, 4, 9});
  line.check({waves});
  EXPECT_EQ(line.kernels({waves}), "copy_strided conv_transpose_nhwc_f32 copy_strided");
}

TEST(Plan, VolumesAreConvolvedAndWhatFollowsIsFused) {
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

TEST(Plan, VolumesAreImagesWhereTheWindowIsFlat) {
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

TEST(Plan, PoolingAndResizingOfVolumes) {
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

TEST(Plan, ConcatenationIsWrittenInPlace) {
  Case c({{"a", random_tensor({4, 4, 1, 1})}, {"b", random_tensor({3, 4, 3, 3})}},
         "    u = torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    v = torch.conv2d(u, self.b, None, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.cat([v, u, v], 1)\n");
  const Tensor x = random_tensor({1, 4, 6, 6}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 conv_nhwc_f32 copy_strided");
}

// The list of sizes leaves the segment, and whoever gets it may change it.
TEST(Plan, ListsOfNumbersMayLeave) {
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
TEST(Plan, ConcatenationsGrow) {
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

TEST(Plan, PoolingMeansAndFlattening) {
  Case c({{"w", random_tensor({5, 6})}, {"b", random_tensor({5})}},
         "    y = torch.max_pool2d(x, [3, 3], [2, 2], [1, 1], [1, 1], True)\n"
         "    y = torch.avg_pool2d(y, [2, 2], [1, 1], [1, 1], False, False)\n"
         "    y = torch.adaptive_avg_pool2d(y, [1, 1])\n"
         "    return torch.linear(torch.flatten(y, 1), self.w, self.b)\n");
  c.check({random_tensor({3, 6, 10, 7})});
  Case mean({}, "    return torch.mean(x, [2, 3])\n");
  mean.check({random_tensor({2, 5, 3, 4})});
}

TEST(Plan, Attention) {
  // As torch.nn.MultiheadAttention computes it, and as BERT does.
  Case vit({{"w", random_tensor({96, 32})}},
           "    y = torch.linear(x, self.w, None)\n"
           "    q, k, v = torch.chunk(y, 3, -1)\n"
           "    q = torch.transpose(torch.view(torch.contiguous(q), [19, 4, 8]), 0, 1)\n"
           "    k = torch.transpose(torch.view(torch.contiguous(k), [19, 4, 8]), 0, 1)\n"
           "    v = torch.transpose(torch.view(torch.contiguous(v), [19, 4, 8]), 0, 1)\n"
           "    a = torch.bmm(torch.div(q, 3.), torch.transpose(k, -2, -1))\n"
           "    y = torch.bmm(torch.softmax(a, -1), v)\n"
           "    y = torch.view(torch.contiguous(torch.transpose(y, 0, 1)), [19, 32])\n"
           "    return torch.relu(y)\n");
  const Tensor x = random_tensor({19, 1, 32});
  vit.check({x});
  EXPECT_EQ(vit.kernels({x}), "conv_nhwc_f32 attention_f32 activation_rows_f32");

  const std::string heads = ", [2, 7, 3, 5]), [0, 2, 1, 3])\n";
  Case bert({{"w", random_tensor({15, 9})}, {"u", random_tensor({15, 9})}},
            "    q = torch.permute(torch.view(torch.linear(x, self.w, None)" + heads +
                "    k = torch.permute(torch.view(torch.linear(x, self.u, None)" + heads +
                "    a = torch.div(torch.matmul(q, torch.transpose(k, -1, -2)), 2.5)\n"
                "    p = torch.softmax(torch.add(a, mask), -1)\n"
                "    y = torch.permute(torch.matmul(p, k), [0, 2, 1, 3])\n"
                "    return torch.reshape(y, [2, 7, 15])\n",
            "x: Tensor, mask: Tensor");
  const Tensor tokens = random_tensor({2, 7, 9}), mask = random_tensor({2, 1, 1, 7});
  bert.check({tokens, mask});
  EXPECT_NE(bert.kernels({tokens, mask}).find("attention_f32"), std::string::npos);

  // The weights are wanted, too.
  Case read({},
            "    p = torch.softmax(torch.matmul(x, torch.transpose(x, 0, 1)), -1)\n"
            "    return torch.add(torch.matmul(p, x), torch.sum(p))\n");
  read.check({random_tensor({6, 4})});
  Case alone({},
             "    p = torch.softmax(torch.matmul(x, torch.transpose(x, 0, 1)), -1)\n"
             "    return torch.matmul(p, x)\n");
  alone.check({random_tensor({6, 4})});
  EXPECT_EQ(alone.kernels({random_tensor({6, 4})}), "attention_f32");
}

TEST(Plan, AttentionByEinsum) {
  const auto attention = [](const char* scores, const std::string& rest) {
    return "    a = torch.softmax(torch.einsum(\"" + std::string(scores) +
           "\", [torch.mul(q, 0.5), k]), -1)\n    return torch.einsum(" + rest + ")\n";
  };
  const char* arguments = "q: Tensor, k: Tensor, v: Tensor";
  // As rearranged heads are written, and as XLNet does it; then what is no attention: scores that
  // are turned, weights that are turned or come second.
  Case heads({},
             attention("b h i d, b h j d -> b h i j", "\"b h i j, b h j d -> b h i d\", [a, v]"),
             arguments);
  const Tensor q = random_tensor({2, 3, 5, 8}), k = random_tensor({2, 3, 7, 8});
  heads.check({q, k, random_tensor({2, 3, 7, 6})});
  // What leaves is copied, since heads are joined in it.
  EXPECT_EQ(heads.kernels({q, k, random_tensor({2, 3, 7, 6})}), "attention_f32 copy_strided");
  Case words_first({}, attention("ibnd,jbnd->bnij", "\"bnij,jbnd->ibnd\", [a, v]"), arguments);
  const Tensor x = random_tensor({5, 2, 5, 8});
  words_first.check({x, x, x});
  EXPECT_EQ(words_first.kernels({x, x, x}), "attention_f32 copy_strided");
  for (const char* rest : {"\"bnij,ibnd->jbnd\", [a, v]", "\"jbnd,bnij->ibnd\", [v, a]"}) {
    Case other({}, attention("ibnd,jbnd->bnij", rest), arguments);
    other.check({x, x, x});
    EXPECT_EQ(other.kernels({x, x, x}).find("attention_f32"), std::string::npos) << rest;
  }
  Case turned({}, attention("ibnd,jbnd->bnji", "\"bnij,jbnd->ibnd\", [a, v]"), arguments);
  turned.check({x, x, x});
  EXPECT_EQ(turned.kernels({x, x, x}).find("attention_f32"), std::string::npos);
}

TEST(Plan, FusedTransformerLayers) {
  const std::vector<std::pair<std::string, Tensor>> weights = {
      {"a", random_tensor({48, 16})}, {"b", random_tensor({48})},
      {"c", random_tensor({16, 16})}, {"d", random_tensor({16})},
      {"e", random_tensor({16})},     {"f", random_tensor({16})},
      {"g", random_tensor({16})},     {"h", random_tensor({16})},
      {"i", random_tensor({33, 16})}, {"j", random_tensor({33})},
      {"k", random_tensor({16, 33})}, {"l", random_tensor({16})}};
  const Tensor x = random_tensor({2, 7, 16});
  for (const char* flags : {"False, False", "False, True", "True, False", "True, True"}) {
    Case layer(weights,
               "    return torch._transformer_encoder_layer_fwd(x, 16, 4, self.a, self.b, "
               "self.c, self.d, " +
                   std::string(flags) +
                   ", 1e-5, self.e, self.f, self.g, self.h, self.i, self.j, self.k, "
                   "self.l, None, None)\n");
    layer.check({x}, 2e-5);
    EXPECT_NE(layer.kernels({x}).find("attention_f32 conv_nhwc_f32"), std::string::npos);
  }
  Case attention(weights,
                 "    y, p = torch._native_multi_head_attention(x, x, x, 16, 4, self.a, self.b, "
                 "self.c, self.d, None, False, True, None)\n"
                 "    return torch.relu(y)\n");
  attention.check({x}, 2e-5);
  EXPECT_EQ(attention.kernels({x}), "conv_nhwc_f32 attention_f32 conv_nhwc_f32");
}

TEST(Plan, AResidualIsAddedThroughViews) {
  const std::string product = "    y = torch.linear(x, self.w, None)\n";
  const Tensor x = random_tensor({4, 8});
  Case same(
      {{"w", random_tensor({4, 8})}, {"r", random_tensor({1, 4, 4})}},
      product + "    return torch.add(torch.transpose(torch.view(y, [4, 1, 4]), 0, 1), self.r)\n");
  same.check({x});
  EXPECT_EQ(same.kernels({x}), "conv_nhwc_f32");
  Case turned({{"w", random_tensor({4, 8})}, {"r", random_tensor({4, 4})}},
              product + "    return torch.add(torch.t(y), self.r)\n");
  turned.check({x});
  Case shared({{"w", random_tensor({4, 8})}, {"r", random_tensor({1, 4, 4})}},
              product +
                  "    v = torch.view(y, [1, 4, 4])\n"
                  "    return torch.mul(torch.add(v, self.r), torch.unsqueeze(y, 0))\n");
  shared.check({x});
}

TEST(Plan, RowsBetweenLinearLayersMayHaveGaps) {
  Case c({{"w", random_tensor({1024, 6})},
          {"b", random_tensor({1024})},
          {"u", random_tensor({5, 1024})}},
         "    y = torch.gelu(torch.linear(x, self.w, self.b))\n"
         "    return torch.linear(y, self.u, None)\n");
  const Tensor x = random_tensor({2, 9, 6});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 conv_nhwc_f32");
}

TEST(Plan, ProductsStayContiguousNextToImages) {
  Case c({{"w", random_tensor({3, 8})}}, "    return torch.linear(x, self.w, None)\n");
  const Tensor x = random_tensor({2, 4, 5, 8}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "copy_strided conv_nhwc_f32");
  EXPECT_TRUE(c.planned({x}).to_tensor().is_contiguous());
}

// Transposed, it cannot be flattened without a copy, so the addition does not reach it.
TEST(Plan, WhatIsViewedOutsideLiesAsInTheProgram) {
  Case c({},
         "    y = torch.transpose(torch.sigmoid(x), 0, 1)\n"
         "    z = torch.flatten(y, 0)\n"
         "    _0 = torch.add_(z, 1)\n"
         "    return torch.add(torch.flatten(torch.relu(y), 0), z)\n");
  c.check({random_tensor({3, 4})});
  Case part({},
            "    y = torch.slice(torch.sigmoid(x), 1, 1, 3)\n"
            "    z = torch.flatten(y, 0)\n"
            "    _0 = torch.mul_(z, z)\n"
            "    return torch.add(torch.flatten(torch.relu(y), 0), z)\n");
  part.check({random_tensor({3, 4})});
  Case stack({},  // what the stack is made of decides how it lies
             "    y = torch.add(torch.linear(x, torch.ones([4, 4])), x)\n"
             "    z = torch.stack([y, x], 1)\n"
             "    a, b, c, d = torch.unbind(z, -1)\n"
             "    return torch.view(b, [2, 2, 15])\n");
  stack.check({random_tensor({2, 3, 5, 4}).contiguous(MemoryFormat::kChannelsLast)});
  Case loop({},
            "    y = x\n"
            "    for _ in range(3):\n"
            "      y = torch.permute(torch.neg(y), [1, 0, 2, 3])\n"
            "    return torch.view(y, [3, 27, 1])\n");
  loop.check({random_tensor({3, 3, 9, 1}).contiguous(MemoryFormat::kChannelsLast)});
}

TEST(Plan, SqueezeAndExciteScalesChannels) {
  Case c({{"a", random_tensor({2, 6, 1, 1})}, {"b", random_tensor({6, 2, 1, 1})}},
         "    s = torch.adaptive_avg_pool2d(x, [1, 1])\n"
         "    s = torch.relu(torch.conv2d(s, self.a, None, [1, 1], [0, 0], [1, 1], 1))\n"
         "    s = torch.hardsigmoid(torch.conv2d(s, self.b, None, [1, 1], [0, 0], [1, 1], 1))\n"
         "    return torch.mul(s, x)\n");
  c.check({random_tensor({2, 6, 5, 4})});
}

TEST(Plan, ArithmeticBroadcasts) {
  for (const IntArray& other :
       {IntArray{2, 6, 4, 5}, IntArray{6, 1, 1}, IntArray{2, 6, 1, 1}, IntArray{2, 1, 4, 5},
        IntArray{5}, IntArray{1}, IntArray{}, IntArray{4, 1}}) {
    for (const char* op : {"add", "sub", "rsub", "mul", "div"}) {
      Case c({}, "    return torch." + std::string(op) + "(x, y)\n", "x: Tensor, y: Tensor");
      const Tensor x = random_tensor({2, 6, 4, 5}), y = random_tensor(other, 1, 2);
      c.check({x, y});
      c.check({y, x});
      c.check({x.contiguous(MemoryFormat::kChannelsLast), y});
    }
  }
}

TEST(Plan, NumbersInArithmetic) {
  Case c({}, "    return torch.rsub(torch.mul(torch.sub(torch.add(x, 2, alpha=3), n), n), 1)\n",
         "x: Tensor, n: float");
  c.check({random_tensor({3, 4}), Value(2.5)});
  c.check({random_tensor({3, 4}), Value(-1.0)});
}

TEST(Plan, AttentionOverViews) {
  Case c({{"w", random_tensor({24, 8})},
          {"o", random_tensor({8, 8})},
          {"g", random_tensor({8})},
          {"h", random_tensor({8})}},
         "    n = torch.size(x, 0)\n"
         "    t = torch.size(x, 1)\n"
         "    y = torch.layer_norm(x, [8], self.g, self.h)\n"
         "    y = torch.reshape(torch.linear(y, self.w), [n, t, 3, 2, 4])\n"
         "    y = torch.permute(y, [2, 0, 3, 1, 4])\n"
         "    q, k, v = torch.unbind(y)\n"
         "    a = torch.softmax(torch.matmul(q, torch.transpose(k, -2, -1)), -1)\n"
         "    y = torch.reshape(torch.transpose(torch.matmul(a, v), 1, 2), [n, t, 8])\n"
         "    return torch.add(x, torch.linear(y, self.o))\n");
  c.check({random_tensor({2, 5, 8})});
  c.check({random_tensor({1, 9, 8})});
}

TEST(Plan, ResizingAsPytorchDoes) {
  Case c({},
         "    y = torch.upsample_bilinear2d(x, [9, 5], False)\n"
         "    return torch.upsample_nearest2d(y, [4, 11])\n");
  c.check({random_tensor({1, 3, 4, 6})});
}

TEST(Plan, WhatHasNoKernelRunsItsReference) {
  Case c({}, "    return torch.relu(torch.roll(torch.relu(x), [2], []))\n");
  const Tensor x = random_tensor({3, 4});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "activation_rows_f32 aten::roll activation_rows_f32");
  Case other({}, "    return torch.mul(torch.add(x, x), 2)\n");
  other.check({random_tensor({3, 4}).to(DType::kFloat64)}, 0);
  other.check({random_tensor({3, 4}, -9, 9).to(DType::kInt32)}, 0);
}

TEST(Plan, ShapesBeyondTheCacheFallBackToTheInterpreter) {
  Case c({}, "    return torch.relu(torch.add(x, 1))\n");
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 1; n < 100; ++n) c.check({random_tensor({n, 3})}, 0);
  }
}

TEST(Plan, ErrorsComeFromTheProgram) {
  Case c({{"w", random_tensor({5, 6})}}, "    return torch.relu(torch.linear(x, self.w))\n");
  for (int run = 0; run < 2; ++run) {
    EXPECT_THROW(c.planned({random_tensor({2, 7})}), Error);
    c.check({random_tensor({2, 6})});
  }
}

TEST(Plan, EmptyTensorsAndNan) {
  Case c({}, "    return torch.relu(torch.mul(x, x))\n");
  c.check({random_tensor({0, 3})});
  const Tensor x = random_tensor({4});
  x.data_ptr<float>()[2] = std::nanf("");
  c.check({x});
  EXPECT_TRUE(std::isnan(c.planned({x}).to_tensor().data_ptr<float>()[2]));
}

TEST(Plan, ThreadsShareOne) {
  Case c({{"w", random_tensor({8, 8, 3, 3})}},
         "    y = torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.relu(torch.add(y, x))\n");
  std::vector<Tensor> inputs, wants;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(random_tensor({1, 8, 8 + i % 2, 8}));
    wants.push_back(c.reference({inputs.back()}).to_tensor());
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 50; ++run) {
        Case::expect_near(c.planned({inputs[i]}).to_tensor(), wants[i], 1e-5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Arguments that look like those that a kernel or a view takes, and mean something else.
TEST(Plan, OverloadsOfOtherKinds) {
  const std::vector<std::pair<std::string, Tensor>> weights = {{"w", random_tensor({4})},
                                                               {"one", random_tensor({1, 1, 1})}};
  const Tensor x = random_tensor({3, 4}), y = random_tensor({3, 1});
  for (const char* expression :
       {"torch.rsub(z, x)", "torch.rsub(x, z)", "torch.expand_as(self.w, torch.relu(x))",
        "torch.narrow(z, 0, n, 2)", "torch.clamp(z, self.one)", "torch.clamp_min(z, self.one)"}) {
    Case c(
        weights,
        "    z = torch.relu(y)\n    z = " + std::string(expression) + "\n    return torch.abs(z)\n",
        "x: Tensor, y: Tensor, n: Tensor");
    SCOPED_TRACE(expression);
    c.check({x, y, Value(ops::full({}, Scalar(int64_t{1}), DType::kInt64))});
  }
}

TEST(Plan, ProductsOfOtherRanksAreErrors) {
  Case mm({}, "    return torch.mm(torch.relu(x), x)\n");
  EXPECT_THROW(mm.planned({random_tensor({2, 3, 3})}), Error);
  Case bmm({}, "    return torch.bmm(torch.relu(x), y)\n", "x: Tensor, y: Tensor");
  EXPECT_THROW(bmm.planned({random_tensor({2, 3, 3}), random_tensor({1, 3, 3})}), Error);
}

}  // namespace
}  // namespace torchlet::cpu
