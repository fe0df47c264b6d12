// Convolutions of images in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "device/cpu/testing.h"

namespace torchlet::cpu {
namespace {

TEST(LowerConvolution, ConvolutionsTakeBiasActivationAndResidual) {
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

TEST(LowerConvolution, SeveralOutputsOfEachChannel) {
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
TEST(LowerConvolution, PlanesWhosePixelsAreOnlyMovedStayPlanes) {
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

TEST(LowerConvolution, TheResidualGoesToTheLaterOfTwoConvolutions) {
  Case c({{"a", random_tensor({4, 6, 1, 1})}, {"b", random_tensor({4, 6, 2, 2})}},
         "    u = torch.conv2d(x, self.a, None, [2, 2], [0, 0], [1, 1], 1)\n"
         "    v = torch.conv2d(x, self.b, None, [2, 2], [0, 0], [1, 1], 1)\n"
         "    return torch.sigmoid(torch.add(u, v))\n");
  const Tensor x = random_tensor({1, 6, 8, 8}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 conv_nhwc_f32");
}

TEST(LowerConvolution, SmallGroupsAreConvolvedLikeChannels) {
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

TEST(LowerConvolution, DepthwiseGroupedDilatedAndOneDimensional) {
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

TEST(LowerConvolution, DepthwiseLayersReadAndWritePlanes) {
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
  Case residual(weights(1), layer("y", "x", "32") + "    return torch.add(torch.relu(y), x)\n");
  residual.check({x});
  EXPECT_EQ(residual.kernels({x}), "copy_strided dwconv_nhwc_f32 copy_strided");
}

TEST(LowerConvolution, PointwiseLayersOfFewChannelsReadAndWritePlanes) {
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
  // An image of one channel is a plane, and any activation follows.
  for (const auto& [in, out] : {std::pair{29, 1}, {1, 29}, {1, 1}}) {
    Case planes({{"w", random_tensor({out, in, 1, 1})}},
                "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
                "    return torch.sigmoid(y)\n");
    const Tensor x = random_tensor({2, in, 7, 9});
    planes.check({x});
    EXPECT_EQ(planes.kernels({x}), "pointwise_planes_f32") << in << " to " << out;
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

TEST(LowerConvolution, InvertedResidualsRunInStrips) {
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
  // As EfficientNet has it: all of the hidden image is weighed before it is projected.
  Case weighed({{"a", random_tensor({96, 16, 1, 1})},
                {"b", random_tensor({96, 1, 3, 3})},
                {"c", random_tensor({16, 96, 1, 1})}},
               "    y = torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1)\n"
               "    y = torch.silu(y)\n"
               "    y = torch.conv2d(y, self.b, None, [2, 2], [1, 1], [1, 1], 96)\n"
               "    y = torch.silu(y)\n"
               "    y = torch.mul(y, torch.sigmoid(torch.mean(y, [2, 3], True)))\n"
               "    return torch.conv2d(y, self.c, None, [1, 1], [0, 0], [1, 1], 1)\n");
  weighed.check({x});
  EXPECT_EQ(weighed.kernels({x}).find("inverted_residual_f32"), 0u) << weighed.kernels({x});
  EXPECT_EQ(weighed.kernels({small}).find("conv_nhwc_f32 dwconv_nhwc_f32"), 0u);
}

TEST(LowerConvolution, ManyChannelsByStrassensAlgorithm) {
  Case c({{"w", random_tensor({384, 256, 1, 1})}, {"v", random_tensor({320, 384})}},
         "    y = torch.relu(torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1))\n"
         "    rows = torch.transpose(torch.flatten(y, 2), 1, 2)\n"
         "    return torch.linear(rows, self.v)\n");
  const auto image = [](int64_t size) {
    return random_tensor({1, 256, size, size}).contiguous(MemoryFormat::kChannelsLast);
  };
  c.check({image(10)});
  EXPECT_EQ(c.kernels({image(10)}), "strassen_f32 strassen_f32");
  EXPECT_EQ(c.kernels({image(9)}), "conv_nhwc_f32 conv_nhwc_f32");
}

TEST(LowerConvolution, GatesScaleWeights) {
  const auto name = [](int64_t out) { return "of " + std::to_string(out) + " channels"; };
  for (const int64_t out : {1, 5, 16, 24, 33, 100}) {  // which end their panels in any way
    SCOPED_TRACE(name(out));
    Case c({{"w", random_tensor({out, 19, 1, 1})}, {"b", random_tensor({out})}},
           "    y = torch.mul(x, gate)\n"
           "    y = torch.relu(torch.conv2d(y, self.w, self.b, [1, 1], [0, 0], [1, 1], 1))\n"
           "    return torch.add(y, more)\n",
           "x: Tensor, gate: Tensor, more: Tensor");
    const Tensor gate = random_tensor({1, 19, 1, 1});
    const auto image = [](int64_t channels, int64_t h, int64_t w) {
      return random_tensor({1, channels, h, w}).contiguous(MemoryFormat::kChannelsLast);
    };
    c.check({image(19, 9, 13), gate, image(out, 9, 13)});
    EXPECT_EQ(c.kernels({image(19, 9, 13), gate, image(out, 9, 13)}), "gated_conv_nhwc_f32");
    // No more pixels than weights of a channel.
    EXPECT_EQ(c.kernels({image(19, 1, out), gate, image(out, 1, out)}),
              "binary_rows_f32 conv_nhwc_f32");
  }
  // Numbers for each picture, and a weighed image that others read.
  const std::string kConv = "torch.conv2d(y, self.w, None, [1, 1], [0, 0], [1, 1], 1)";
  const auto pixels = random_tensor({2, 19, 9, 13}).contiguous(MemoryFormat::kChannelsLast);
  Case batch({{"w", random_tensor({24, 19, 1, 1})}},
             "    y = torch.mul(x, gate)\n    return " + kConv + "\n", "x: Tensor, gate: Tensor");
  batch.check({pixels, random_tensor({2, 19, 1, 1})});
  EXPECT_EQ(batch.kernels({pixels, random_tensor({1, 19, 1, 1})}), "binary_rows_f32 conv_nhwc_f32");
  Case shared({{"w", random_tensor({19, 19, 1, 1})}},
              "    y = torch.mul(x, gate)\n    return torch.add(" + kConv + ", torch.sigmoid(y))\n",
              "x: Tensor, gate: Tensor");
  const Tensor x = random_tensor({1, 19, 9, 13}).contiguous(MemoryFormat::kChannelsLast);
  shared.check({x, random_tensor({1, 19, 1, 1})});
  EXPECT_EQ(shared.kernels({x, random_tensor({1, 19, 1, 1})}),
            "binary_rows_f32 conv_nhwc_f32 activation_rows_f32 binary_rows_f32");
}

TEST(LowerConvolution, TransposedConvolution) {
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
  // Few channels are left to the reference, unless the taps of a line have many together or each
  // channel has a filter.
  Case grouped({{"w", random_tensor({4, 2, 3, 2})}},
               "    return torch.conv_transpose2d(x, self.w, None, [2, 1], [0, 0], [0, 0], 2)\n");
  grouped.check({x});
  EXPECT_EQ(grouped.by_reference(),
            "aten::conv_transpose2d: few channels of a transposed convolution; ");
  Case depthwise({{"w", random_tensor({4, 1, 3, 3})}, {"b", random_tensor({4})}},
                 "    y = torch.conv_transpose2d(x, self.w, self.b, [1, 1], [1, 1], [0, 0], 4)\n"
                 "    return torch.relu(torch.conv_transpose2d(torch.relu(y + x), self.w, self.b, "
                 "[2, 3], [1, 0], [1, 0], 4))\n");
  depthwise.check({x});
  EXPECT_EQ(depthwise.kernels({x}),
            "copy_strided conv_transpose_nhwc_f32 conv_transpose_nhwc_f32 copy_strided");
  Case repeated(
      {{"w", random_tensor({4, 3, 3, 2})}, {"b", random_tensor({12})}},
      "    return torch.conv_transpose2d(x, self.w, self.b, [2, 1], [1, 0], [0, 0], 4)\n");
  repeated.check({x});
  EXPECT_EQ(repeated.kernels({x}),
            "copy_strided copy_strided conv_transpose_nhwc_f32 copy_strided");
  Case huge_stride(
      {{"w", random_tensor({4, 1, 3, 2})}},
      "    return torch.conv_transpose2d(x, self.w, None, [65, 1], [0, 0], [0, 0], 4)\n");
  huge_stride.check({x});
  EXPECT_EQ(huge_stride.by_reference(),
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

}  // namespace
}  // namespace torchlet::cpu
