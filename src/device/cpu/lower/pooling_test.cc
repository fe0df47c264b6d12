// Pooling and resizing in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include "device/cpu/testing.h"
#include "ops/core/common.h"

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

// The same elements, with the channels of a place side by side.
Tensor channels_last_line(const Tensor& x) {
  return ops::permute(ops::permute(x, IntArray{0, 2, 1}).contiguous(), IntArray{0, 2, 1});
}

// What follows a convolution of lines reads them as they lie.
TEST(LowerPooling, LinesAreImagesOfOneRow) {
  const std::string conv = "    y = torch.conv1d(x, self.w, None, [1], [1], [1], 1)\n";
  const Tensor x = random_tensor({2, 6, 41});
  const auto check = [&](const std::string& call, const std::string& kernel) {
    SCOPED_TRACE(call);
    Case c({{"w", random_tensor({20, 6, 3})}, {"v", random_tensor({8, 20, 1})}},
           conv + "    y = torch." + call + "\n" +
               "    return torch.conv1d(y, self.v, None, [1], [0], [1], 1)\n");
    c.check({x}, 1e-5);
    EXPECT_EQ(c.kernels({x}),
              "copy_strided conv_nhwc_f32 " + kernel + " conv_nhwc_f32 copy_strided");
  };
  check("max_pool1d(y, [3], [2], [1], [1], True)", "max_pool_nhwc_f32");
  check("max_pool1d(y, [4])", "max_pool_nhwc_f32");
  check("max_pool1d(y, [3], [1], [0], [2], False)", "max_pool_nhwc_f32");
  check("avg_pool1d(y, [5], [3], [2], False, False)", "avg_pool_nhwc_f32");
  check("avg_pool1d(y, [2])", "avg_pool_nhwc_f32");
  check("adaptive_avg_pool1d(y, [7])", "adaptive_avg_pool_nhwc_f32");
  check("upsample_linear1d(y, [90], False, None)", "resize_linear_nhwc_f32");
  check("upsample_linear1d(y, [30], True, 0.75)", "resize_linear_nhwc_f32");
  check("upsample_linear1d(y, None, False, [1.7])", "resize_linear_nhwc_f32");
  check("upsample_nearest1d(y, [90], 2.2)", "resize_nearest_nhwc");
  check("upsample_nearest1d(y, None, [2.5])", "resize_nearest_nhwc");
  check("_upsample_nearest_exact1d(y, [29], None)", "resize_nearest_nhwc");
  Case planes({}, "    return torch.max_pool1d(x, [3], [2], [1], [1], False)\n");
  planes.check({x});
  EXPECT_EQ(planes.kernels({x}), "max_pool2d_f32");
  const std::string whole = "[" + std::to_string(x.size(2)) + "]";
  for (const std::string& call :
       {std::string("adaptive_avg_pool1d(x, [1])"), "avg_pool1d(x, " + whole + ")"}) {
    Case mean({}, "    return torch." + call + "\n");
    mean.check({channels_last_line(x)}, 1e-6);
    EXPECT_EQ(mean.kernels({channels_last_line(x)}), "global_avg_pool_nhwc_f32");
    mean.check({x}, 1e-6);
    EXPECT_EQ(mean.kernels({x}), "fold_f32");
  }
}

// Between planes of few channels, vectors hold pixels.
TEST(LowerPooling, FewChannelsArePlanes) {
  const char* const calls[] = {"max_pool2d(x, [3, 3], [1, 1], [1, 1], [1, 1], False)",
                               "max_pool2d(x, [2, 3], [2, 3], [0, 1], [2, 1], True)",
                               "avg_pool2d(x, [3, 3], [1, 1], [1, 1], False, True)",
                               "avg_pool2d(x, [4, 2], [3, 2], [2, 1], True, False)",
                               "avg_pool2d(x, [2, 2], [2, 2], [0, 0], False, True, 3)"};
  for (const std::string call : calls) {
    SCOPED_TRACE(call);
    Case c({}, "    return torch." + call + "\n");
    const std::string name = call.substr(0, 10) + "_f32";
    for (const int64_t channels : {1, 3, 15}) {
      const Tensor x = random_tensor({2, channels, 19, 37});
      c.check({x}, 1e-6);
      EXPECT_EQ(c.kernels({x}), name);
    }
    const Tensor more = random_tensor({2, 16, 19, 37});
    c.check({more}, 1e-6);
    EXPECT_NE(c.kernels({more}).find("pool_nhwc_f32"), std::string::npos);
    const Tensor image = random_tensor({2, 3, 19, 37}).contiguous(MemoryFormat::kChannelsLast);
    c.check({image}, 1e-6);
    EXPECT_NE(c.kernels({image}).find("pool_nhwc_f32"), std::string::npos);
  }
}

TEST(LowerPooling, AdaptiveMaxima) {
  const auto layer = [](const std::string& operation, const std::string& result) {
    return "    y, i = torch." + operation + "\n    return " + result + "\n";
  };
  const Tensor x = random_tensor({2, 19, 7, 8});
  for (const char* size : {"[3, 2]", "[7, 8]", "[1, 1]", "[9, 4]"}) {
    Case c({},
           layer("adaptive_max_pool2d(torch.neg(x), " + std::string(size) + ")", "torch.relu(y)"));
    c.check({x});
    EXPECT_NE(c.kernels({x}).find("adaptive_max_pool_nhwc_f32"), std::string::npos);
    const Tensor few = random_tensor({2, 3, 7, 8});
    c.check({few});
    EXPECT_NE(c.kernels({few}).find("aten::adaptive_max_pool2d"), std::string::npos);
  }
  for (const char* result : {"torch.add(torch.relu(y), torch.to(i, 6))", "torch.add(i, 1)"}) {
    Case places({}, layer("adaptive_max_pool2d(torch.neg(x), [3, 2])", result));
    places.check({x});
    EXPECT_NE(places.kernels({x}).find("aten::adaptive_max_pool2d"), std::string::npos);
  }
}

TEST(LowerPooling, MaximaAndTheirPlaces) {
  for (const char* window :
       {"[2, 2], [2, 2], [0, 0], [1, 1], False", "[3, 2], [1, 2], [1, 1], [2, 1], True"}) {
    Case c({}, "    v, i = torch.max_pool2d_with_indices(torch.neg(x), " + std::string(window) +
                   ")\n    return torch.add(torch.relu(v), torch.to(i, 6))\n");
    const Tensor x = random_tensor({2, 19, 7, 8});
    c.check({x.contiguous(MemoryFormat::kChannelsLast)});
    c.check({x});
    EXPECT_NE(c.kernels({x}).find("max_pool_places_nhwc_f32"), std::string::npos);
    c.check({random_tensor({19, 7, 8})});
  }
  // As SegNet has it.
  Case back({},
            "    v, i = torch.max_pool2d_with_indices(torch.neg(x), [2, 2], [2, 2])\n"
            "    return torch.neg(torch.max_unpool2d(torch.neg(v), i, [7, 9]))\n");
  const Tensor x = random_tensor({2, 19, 7, 8}).contiguous(MemoryFormat::kChannelsLast);
  back.check({x});
  EXPECT_EQ(back.kernels({x}).find("aten::"), std::string::npos) << back.kernels({x});
  Case small({},
             "    v, i = torch.max_pool2d_with_indices(torch.neg(x), [2, 2], [2, 2])\n"
             "    return torch.max_unpool2d(v, i, [2, 2])\n");
  EXPECT_THROW(small.planned({x}), Error);
}

}  // namespace
}  // namespace torchlet::cpu
