// Programs by NNAPI, on our own library, and as they were written.
#include "device/nnapi/nnapi_device.h"

#include <torchlet/threads.h>

#include <filesystem>
#include <thread>

#include "base/limits.h"
#include "device/nnapi/testing.h"
#include "graph/event_sink.h"
#include "nnapi/library.h"

namespace torchlet::nnapi {
namespace {

std::string conv(const std::string& arguments) {
  return "    return torch.conv2d(x, self.w, self.b, " + arguments + ")\n";
}

Tensor channels_last(const Tensor& tensor) {
  return tensor.contiguous(MemoryFormat::kChannelsLast);
}

// Wherever the build makes the library, none of the tests below is skipped.
TEST(NnapiLibrary, IsThereWhereItIsBuilt) {
#ifdef TORCHLET_HAS_NEURALNETWORKS
  EXPECT_GE(feature_level(), ANEURALNETWORKS_FEATURE_LEVEL_7);
#else
  GTEST_SKIP() << "this build makes no libneuralnetworks.so";
#endif
}

TEST_F(NnapiDevice, Convolutions) {
  struct Layer {
    IntArray weight;
    const char* arguments;
  };
  const Layer layers[] = {{{5, 6, 3, 3}, "[1, 1], [1, 1], [1, 1], 1"},
                          {{5, 6, 1, 1}, "[1, 1], [0, 0], [1, 1], 1"},
                          {{4, 6, 3, 2}, "[2, 1], [0, 1], [1, 1], 1"},
                          {{6, 1, 3, 3}, "[1, 1], [1, 1], [1, 1], 6"},
                          {{12, 1, 3, 3}, "[2, 2], [1, 1], [1, 1], 6"},
                          {{4, 3, 3, 3}, "[1, 1], [1, 1], [1, 1], 2"},
                          {{5, 6, 3, 3}, "[1, 1], [2, 2], [2, 2], 1"},
                          {{6, 1, 3, 3}, "[1, 1], [2, 0], [2, 1], 6"},
                          {{5, 6, 3, 4}, "[1, 1], \"same\", [1, 1], 1"},
                          {{5, 6, 3, 4}, "[1, 1], \"valid\", [1, 1], 1"}};
  for (const Layer& layer : layers) {
    SCOPED_TRACE(layer.arguments);
    Case c({{"w", random_tensor(layer.weight)}, {"b", random_tensor({layer.weight[0]})}},
           conv(layer.arguments));
    c.check(random_tensor({2, 6, 9, 7}));
    c.check(channels_last(random_tensor({1, 6, 8, 11})));
  }
}

TEST_F(NnapiDevice, TransposedConvolutions) {
  Case c({{"w", random_tensor({6, 4, 3, 2})}, {"b", random_tensor({4})}},
         "    return torch.conv_transpose2d(x, self.w, self.b, [2, 2], [1, 1], [1, 0])\n");
  c.check(random_tensor({2, 6, 5, 7}));
  Case grouped({{"w", random_tensor({6, 4, 3, 3})}},
               "    return torch.conv_transpose2d(x, self.w, None, [1, 1], [0, 0], [0, 0], 2)\n");
  EXPECT_EQ(grouped.refusal(random_tensor({1, 6, 5, 5})), "a grouped transposed convolution");
}

TEST_F(NnapiDevice, ActivationsArePartOfLayers) {
  Case c({{"w", random_tensor({6, 6, 3, 3})}, {"b", random_tensor({6})}},
         "    y = torch.relu(torch.conv2d(x, self.w, self.b, [1, 1], [1, 1]))\n"
         "    y = torch.hardtanh(torch.add(x, y), 0.0, 6.0)\n"
         "    return torch.hardtanh(torch.mul(y, 0.5), -1.0, 1.0)\n");
  const Tensor x = random_tensor({2, 6, 5, 4}, -8, 8);
  c.check(x);
  EXPECT_EQ(c.operations(x), (std::vector<int32_t>{ANEURALNETWORKS_CONV_2D, ANEURALNETWORKS_ADD,
                                                   ANEURALNETWORKS_MUL}));
  // Not of what others read, too, under whatever name.
  Case shared({},
              "    y = torch.add(x, 1.0)\n"
              "    return torch.sub(torch.relu(y), y)\n");
  shared.check(random_tensor({3, 4}, -3, 3));
  Case renamed({},
               "    y = torch.add(x, 1.0)\n"
               "    z = torch.reshape(y, [3, 4])\n"
               "    return torch.sub(torch.relu(z), y)\n");
  renamed.check(random_tensor({3, 4}, -3, 3));
}

TEST_F(NnapiDevice, FunctionsOfOneTensor) {
  for (const char* function : {"torch.relu(x)",
                               "torch.relu6(x)",
                               "torch.hardtanh(x, -0.5, 0.7)",
                               "torch.clamp(x, -0.3, None)",
                               "torch.clamp(x, None, 1.5)",
                               "torch.sigmoid(x)",
                               "torch.tanh(x)",
                               "torch.hardsigmoid(x)",
                               "torch.hardswish(x)",
                               "torch.silu(x)",
                               "torch.elu(x, 0.7)",
                               "torch.leaky_relu(x, 0.2)",
                               "torch.abs(x)",
                               "torch.exp(x)",
                               "torch.neg(x)",
                               "torch.floor(x)",
                               "torch.sin(x)",
                               "torch.sqrt(torch.abs(x))",
                               "torch.rsqrt(torch.add(torch.abs(x), 0.1))",
                               "torch.log(torch.add(torch.abs(x), 0.1))",
                               "torch.square(x)",
                               "torch.pow(x, 2)",
                               "torch.reciprocal(torch.add(torch.abs(x), 0.1))",
                               "torch.softmax(x, 1)",
                               "torch.softmax(x, -1)",
                               "torch.log_softmax(x, 1)",
                               "torch.log_softmax(x, -1)"}) {
    SCOPED_TRACE(function);
    Case c({}, std::string("    return ") + function + "\n");
    c.check(random_tensor({2, 3, 5, 4}, -7, 7), 1e-4);
    c.check(random_tensor({3, 5}, -7, 7), 1e-4);
  }
  Case prelu({{"w", random_tensor({3})}}, "    return torch.prelu(x, self.w)\n");
  prelu.check(random_tensor({2, 3, 5, 4}));
  prelu.check(random_tensor({2, 3}));
}

TEST_F(NnapiDevice, Arithmetic) {
  const Weights weights = {{"c", random_tensor({6, 1, 1}, 1, 2)},
                           {"r", random_tensor({4}, 1, 2)},
                           {"s", random_tensor({2, 6, 5, 4}, 1, 2)}};
  for (const char* result :
       {"torch.add(x, self.c)", "torch.add(self.r, x)", "torch.sub(x, self.s, alpha=2)",
        "torch.rsub(x, 2.0)", "torch.mul(x, self.c)", "torch.div(self.s, x)", "torch.div(x, 3)",
        "torch.maximum(x, self.r)", "torch.minimum(x, self.c)", "torch.pow(x, self.r)"}) {
    SCOPED_TRACE(result);
    Case c(weights, std::string("    return ") + result + "\n");
    c.check(random_tensor({2, 6, 5, 4}, 1, 2));
    // Of an image that lies as NNAPI's do.
    Case image(weights,
               "    x = torch.max_pool2d(x, [1, 1])\n    return " + std::string(result) + "\n");
    image.check(random_tensor({2, 6, 5, 4}, 1, 2));
  }
}

TEST_F(NnapiDevice, BatchNorms) {
  Case c({{"w", random_tensor({6})},
          {"b", random_tensor({6})},
          {"m", random_tensor({6})},
          {"v", random_tensor({6}, 0.5, 2)}},
         "    return torch.batch_norm(torch.tanh(x), self.w, self.b, self.m, self.v, False, 0.1, "
         "0.001, False)\n");
  c.check(random_tensor({2, 6, 5, 4}));
  c.check(random_tensor({3, 6}));
}

TEST_F(NnapiDevice, LayerNorms) {
  Case c({{"w", random_tensor({6})}, {"b", random_tensor({6})}},
         "    return torch.layer_norm(x, [6], self.w, self.b, 0.001)\n");
  c.check(random_tensor({3, 4, 6}));
  // Along the channels of an image, where nothing has to move.
  Case image({{"w", random_tensor({6})}},
             "    x = torch.permute(torch.max_pool2d(x, [1, 1]), [0, 2, 3, 1])\n"
             "    x = torch.layer_norm(x, [6], self.w)\n"
             "    return torch.relu(torch.permute(x, [0, 3, 1, 2]))\n");
  const Tensor x = random_tensor({2, 6, 5, 4});
  image.check(x);
  EXPECT_EQ(std::ranges::count(image.operations(x), ANEURALNETWORKS_TRANSPOSE), 0);
}

TEST_F(NnapiDevice, Pooling) {
  for (const char* result :
       {"torch.max_pool2d(x, [3, 2], [2, 1], [1, 0])",
        "torch.max_pool2d(x, [3, 3], [2, 2], [0, 0], [1, 1], True)",
        "torch.avg_pool2d(x, [3, 2], [2, 1], [1, 0], False, False)",
        "torch.avg_pool2d(x, [3, 2], [2, 1], [1, 1], False, True)",
        "torch.avg_pool2d(x, [3, 3], [2, 2], [0, 0], True)",
        "torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, False)",
        "torch.avg_pool2d(x, [2, 2], [], [0, 0], False, True, 4)",
        "torch.adaptive_avg_pool2d(x, [1, 1])", "torch.adaptive_avg_pool2d(x, [4, 3])"}) {
    SCOPED_TRACE(result);
    Case c({}, std::string("    return ") + result + "\n");
    c.check(random_tensor({2, 5, 8, 6}));
  }
  const Tensor x = random_tensor({1, 2, 8, 8});
  const auto refusal = [&](const char* result) {
    return Case({}, std::string("    return ") + result + "\n").refusal(x);
  };
  EXPECT_EQ(refusal("torch.max_pool2d(x, [2, 2], [1, 1], [0, 0], [2, 2])"), "a dilated window");
  EXPECT_EQ(refusal("torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, True)"),
            "a mean of padding in windows that reach further");
  EXPECT_EQ(refusal("torch.avg_pool2d(x, [2, 2], [2, 2], [0, 0], False, True, 3)"),
            "a divisor that is not the size of the window");
  EXPECT_EQ(refusal("torch.adaptive_avg_pool2d(x, [3, 3])"), "windows of several sizes");
}

TEST_F(NnapiDevice, Views) {
  for (const char* result :
       {"torch.flatten(x, 1)", "torch.reshape(x, [-1, 4])", "torch.permute(x, [0, 2, 3, 1])",
        "torch.permute(x, [3, 1, 0, 2])", "torch.transpose(x, 1, -1)", "torch.slice(x, 1, 1, 4)",
        "torch.slice(x, -1, 0, 9, 2)", "torch.slice(x, 2, -3, -1)", "torch.select(x, 1, -2)",
        "torch.narrow(x, 2, 1, 3)", "torch.unsqueeze(torch.flatten(x), 0)", "torch.cat([x, x], 1)",
        "torch.cat([x, torch.relu(x), x], -1)", "torch.cat(torch.chunk(x, 2, 1), 2)",
        "torch.cat(torch.split(x, 3, 1), 2)", "torch.constant_pad_nd(x, [1, 2, 0, 3])",
        "torch.constant_pad_nd(x, [1, 0], 2.5)", "torch.channel_shuffle(x, 3)"}) {
    SCOPED_TRACE(result);
    // As images are held, and as they are not.
    Case image({}, "    x = torch.max_pool2d(x, [1, 1])\n    y = " + std::string(result) +
                       "\n    return torch.add(y, 1.0)\n");
    image.check(random_tensor({2, 6, 5, 4}));
    Case plain({}, "    x = torch.tanh(x)\n    y = " + std::string(result) +
                       "\n    return torch.add(y, 1.0)\n");
    plain.check(random_tensor({2, 6, 5, 4}));
  }
}

// PyTorch writes it in five dimensions, one more than NNAPI has.
TEST_F(NnapiDevice, ShuffledChannels) {
  Case c({},
         "    x = torch.max_pool2d(x, [1, 1])\n"
         "    y = torch.view(x, [2, 3, 2, 5, 4])\n"
         "    y = torch.contiguous(torch.transpose(y, 1, 2))\n"
         "    return torch.relu(torch.view(y, [2, -1, 5, 4]))\n");
  c.check(random_tensor({2, 6, 5, 4}));
  Case other({},
             "    y = torch.view(torch.tanh(x), [2, 3, 2, 5, 4])\n"
             "    return torch.reshape(torch.transpose(y, 1, 3), [2, -1, 5, 4])\n",
             true);
  const Tensor x = random_tensor({2, 6, 5, 4});
  cpu::Case::expect_near(other.placed(x), other.reference(x), 1e-5);
}

// NNAPI's images are free where nothing has to move.
TEST_F(NnapiDevice, ImagesAreTransposedOnlyWhereTheyHaveToBe) {
  Case c({{"w", random_tensor({6, 6, 1, 1})}},
         "    y = torch.conv2d(x, self.w)\n"
         "    y = torch.add(torch.sigmoid(y), x)\n"
         "    y = torch.cat([y, x], 1)\n"
         "    y = torch.conv2d(torch.slice(y, 1, 3, 9), self.w)\n"
         "    return torch.flatten(torch.adaptive_avg_pool2d(y, [1, 1]), 1)\n");
  const Tensor x = random_tensor({2, 6, 5, 4});
  c.check(x);
  const std::vector<int32_t> codes = c.operations(x);
  EXPECT_EQ(std::ranges::count(codes, ANEURALNETWORKS_TRANSPOSE), 0);
  EXPECT_EQ(std::ranges::count(codes, ANEURALNETWORKS_RESHAPE), 1);
}

TEST_F(NnapiDevice, MatrixProducts) {
  const Weights weights = {{"w", random_tensor({5, 6})}, {"b", random_tensor({5})}};
  Case linear(weights, "    return torch.linear(x, self.w, self.b)\n");
  linear.check(random_tensor({3, 6}));
  linear.check(random_tensor({2, 4, 6}));
  linear.check(random_tensor({6}));
  Case addmm(weights, "    return torch.addmm(self.b, x, torch.t(self.w))\n");
  addmm.check(random_tensor({3, 6}));
  Case matmul(weights, "    return torch.matmul(x, torch.transpose(x, 1, 2))\n");
  matmul.check(random_tensor({3, 6, 4}));
}

TEST_F(NnapiDevice, Reductions) {
  for (const char* result :
       {"torch.mean(x, [2, 3])", "torch.mean(x, [2, 3], True)", "torch.mean(x, [1])",
        "torch.sum(x, [0, 2])", "torch.sum(x, [1], True)", "torch.amax(x, [1])",
        "torch.amin(x, [2, 3], True)", "torch.argmax(x, 1)", "torch.argmax(x, -1, True)",
        "torch.argmin(x, 2)"}) {
    SCOPED_TRACE(result);
    Case image({}, "    x = torch.max_pool2d(x, [1, 1])\n    return " + std::string(result) + "\n");
    image.check(random_tensor({2, 6, 5, 4}));
    Case plain({}, "    return " + std::string(result) + "\n");
    plain.check(random_tensor({2, 6, 5, 4}));
  }
}

TEST_F(NnapiDevice, Resizing) {
  for (const char* result : {"torch.upsample_nearest2d(x, [10, 8], None)",
                             "torch.upsample_nearest2d(x, None, [2.0, 3.0])",
                             "torch.upsample_bilinear2d(x, [9, 7], False, None)",
                             "torch.upsample_bilinear2d(x, [9, 7], True, None)"}) {
    SCOPED_TRACE(result);
    Case c({}, std::string("    return ") + result + "\n");
    c.check(random_tensor({2, 6, 5, 4}));
  }
  Case c({}, "    return torch.upsample_nearest2d(x, None, [1.7, 1.7])\n");
  EXPECT_EQ(c.refusal(random_tensor({1, 2, 5, 5})), "a scale that is not that of the sizes");
}

// x is float; the result is made float again.
Case quantized(const Weights& weights, const std::string& body) {
  return Case(weights, "    q = torch.quantize_per_tensor(x, 0.02, 120, 13)\n" + body +
                           "    return torch.dequantize(y)\n");
}

TEST_F(NnapiDevice, QuantizedLayers) {
  const Tensor x = random_tensor({2, 8, 9, 7}, -2.4f, 2.6f);
  struct Layer {
    IntArray weight;
    const char* arguments;
  };
  const Layer layers[] = {{{12, 8, 3, 3}, "[1, 1], [1, 1], [1, 1], 1"},
                          {{8, 1, 3, 3}, "[2, 1], [1, 1], [1, 1], 8"},
                          {{6, 4, 1, 3}, "[1, 1], [0, 2], [1, 1], 2"},
                          {{12, 8, 3, 3}, "[1, 1], [2, 2], [2, 2], 1"}};
  const char* const per_tensor = "    w = torch.quantize_per_tensor(self.w, 0.011, 3, 12)\n";
  const char* const per_channel =
      "    w = torch.quantize_per_channel(self.w, self.s, self.z, 0, 12)\n";
  for (const Layer& layer : layers) {
    for (const char* weight : {per_tensor, per_channel}) {
      SCOPED_TRACE(std::string(layer.arguments) + weight);
      Case c = quantized({{"w", random_tensor(layer.weight)},
                          {"b", random_tensor({layer.weight[0]})},
                          {"s", random_tensor({layer.weight[0]}, 0.008f, 0.02f)},
                          {"z", zeros(IntArray{layer.weight[0]}, DType::kInt64)}},
                         std::string(weight) + "    p = ops.quantized.conv2d_prepack(w, self.b, " +
                             layer.arguments + ")\n" +
                             "    y = ops.quantized.conv2d_relu(q, p, 0.1, 30)\n");
      c.check_quantized(x, 0.1);
    }
  }
  for (const char* weight : {per_tensor, per_channel}) {
    SCOPED_TRACE(weight);
    Case c = quantized({{"w", random_tensor({5, 8})},
                        {"b", random_tensor({5})},
                        {"s", random_tensor({5}, 0.008f, 0.02f)},
                        {"z", zeros(IntArray{5}, DType::kInt64)}},
                       std::string(weight) +
                           "    p = ops.quantized.linear_prepack(w, self.b)\n"
                           "    y = ops.quantized.linear(q, p, 0.06, 100)\n");
    c.check_quantized(random_tensor({3, 8}, -2, 2), 0.06);
    c.check_quantized(random_tensor({2, 3, 8}, -2, 2), 0.06);
  }
}

// Left, right, top and bottom are alike where that gives the same windows.
TEST_F(NnapiDevice, PoolingIsPaddedEvenlyIfItCanBe) {
  const Tensor x = random_tensor({1, 3, 12, 13});
  for (const char* rest : {"[2, 2], [1, 1], [1, 1], False", "[2, 2], [1, 1], [1, 1], True"}) {
    Case c({}, std::string("    return torch.max_pool2d(x, [3, 3], ") + rest + ")\n");
    const Model model = c.model(x);
    std::vector<int32_t> padding;
    for (size_t i = 1; i < 5; ++i) {
      const Operand& operand = model.operands[model.operations[0].inputs[i]];
      padding.push_back(*reinterpret_cast<const int32_t*>(operand.bytes.data()));
    }
    const bool reaches_further = std::string(rest).ends_with("True");
    EXPECT_EQ(padding, (std::vector<int32_t>{1, 1, 1, reaches_further ? 2 : 1}));
  }
}

TEST_F(NnapiDevice, QuantizedTransposedConvolutions) {
  const Tensor x = random_tensor({2, 6, 5, 7}, -2, 2);
  for (const char* weight :
       {"    w = torch.quantize_per_tensor(self.w, 0.011, 3, 12)\n",
        "    w = torch.quantize_per_channel(self.w, self.s, self.z, 1, 12)\n"}) {
    for (const char* arguments : {"[1, 1], [0, 0], [0, 0]", "[2, 3], [1, 2], [1, 0]"}) {
      SCOPED_TRACE(std::string(weight) + arguments);
      Case c =
          quantized({{"w", random_tensor({6, 5, 3, 4})},
                     {"b", random_tensor({5})},
                     {"s", random_tensor({5}, 0.008f, 0.02f)},
                     {"z", zeros(IntArray{5}, DType::kInt64)}},
                    std::string(weight) +
                        "    p = ops.quantized.conv_transpose2d_prepack(w, self.b, " + arguments +
                        ", [1, 1], 1)\n"
                        "    y = ops.quantized.conv_transpose2d(q, p, 0.1, 130)\n");
      c.check_quantized(x, 0.1);
    }
  }
}

// A step more or less of a bias is several steps of the output, a few layers on.
TEST_F(NnapiDevice, BiasesAreRoundedAsByQnnpack) {
  const float scale = 0.02f * 0.011f;
  const Tensor halves = zeros(IntArray{200}, DType::kFloat32);
  for (int i = 0; i < 200; ++i)
    halves.data_ptr<float>()[i] = (static_cast<float>(i) + 0.5f) * scale;
  Case c = quantized({{"w", zeros(IntArray{200, 8, 1, 1}, DType::kFloat32)}, {"b", halves}},
                     "    w = torch.quantize_per_tensor(self.w, 0.011, 0, 12)\n"
                     "    p = ops.quantized.conv2d_prepack(w, self.b, [1, 1], [0, 0], [1, 1], 1)\n"
                     "    y = ops.quantized.conv2d(q, p, 0.00022, 0)\n");
  const Tensor x = random_tensor({1, 8, 1, 1});
  const Tensor got = c.placed(x).contiguous(), want = c.reference(x).contiguous();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(got.data_ptr<float>()[i], want.data_ptr<float>()[i]) << i;
  EXPECT_EQ(c.refusals(), "");
}

TEST_F(NnapiDevice, QuantizedArithmetic) {
  const Tensor x = random_tensor({2, 8, 5, 7}, -2.4f, 2.6f);
  struct Body {
    const char* result;
    double scale;
  };
  for (const Body& body :
       {Body{"ops.quantized.add(q, torch.relu(q), 0.05, 77)", 0.05},
        Body{"ops.quantized.add_relu(q, q, 0.05, 10)", 0.05},
        Body{"ops.quantized.mul(q, q, 0.05, 3)", 0.05},
        Body{"ops.quantized.cat([q, q], 1, 0.03, 90)", 0.03},
        Body{"torch.clamp(q, -1.0, 0.5)", 0.02},
        Body{"torch.max_pool2d(q, [3, 3], [2, 2], [1, 1])", 0.02},
        Body{"torch.adaptive_avg_pool2d(q, [1, 1])", 0.02}, Body{"torch.mean(q, [2, 3])", 0.02},
        Body{"torch.sigmoid(q)", 1.0 / 256}, Body{"torch.tanh(q)", 1.0 / 128},
        Body{"ops.quantized.hardswish(q, 0.02, 20)", 0.02}, Body{"torch.hardsigmoid(q)", 1.0 / 256},
        Body{"torch.constant_pad_nd(q, [1, 1, 0, 2])", 0.02}}) {
    SCOPED_TRACE(body.result);
    Case c = quantized({}, std::string("    y = ") + body.result + "\n");
    c.check_quantized(x, body.scale);
  }
}

TEST_F(NnapiDevice, OldOnesAreNotAskedForWhatTheyLack) {
  const Tensor x = random_tensor({1, 6, 5, 5});
  Case dilated({{"w", random_tensor({5, 6, 3, 3})}, {"b", random_tensor({5})}},
               conv("[1, 1], [2, 2], [2, 2], 1"));
  EXPECT_EQ(dilated.refusal(x, ANEURALNETWORKS_FEATURE_LEVEL_2),
            "this NNAPI is too old for dilated convolutions");
  EXPECT_EQ(dilated.refusal(x, ANEURALNETWORKS_FEATURE_LEVEL_3), "");
  Case hardswish({}, "    return torch.hardswish(x)\n");
  EXPECT_EQ(hardswish.operations(x, ANEURALNETWORKS_FEATURE_LEVEL_1),
            (std::vector<int32_t>{ANEURALNETWORKS_ADD, ANEURALNETWORKS_MUL, ANEURALNETWORKS_MUL}));
  EXPECT_EQ(hardswish.operations(x, ANEURALNETWORKS_FEATURE_LEVEL_4),
            std::vector<int32_t>{ANEURALNETWORKS_HARD_SWISH});
}

TEST_F(NnapiDevice, WhatItRefusesGoesToTheNextDevice) {
  Case c({{"w", random_tensor({6, 6, 3, 3})}, {"b", random_tensor({6})}},
         "    y = torch.relu(torch.conv2d(x, self.w, self.b))\n"
         "    z = torch.max_pool2d(y, [2, 2], [1, 1], [0, 0], [2, 2])\n"
         "    z = torch.conv2d(z, self.w, self.b)\n"
         "    return torch.add(torch.mean(y, [2, 3]), torch.mean(z, [2, 3]))\n",
         true);
  const Tensor x = random_tensor({2, 6, 12, 11});
  for (int run = 0; run < 2; ++run) {
    cpu::Case::expect_near(c.placed(x), c.reference(x), 1e-5);
  }
  EXPECT_EQ(c.refusals(), "aten::max_pool2d: a dilated window\n");
}

TEST_F(NnapiDevice, OutputsLieAsInTheProgram) {
  Case c({{"w", random_tensor({6, 6, 1, 1})}},
         "    y = torch.conv2d(x, self.w)\n"
         "    return torch.view(torch.relu(y), [2, -1])\n");
  c.check(random_tensor({2, 6, 5, 4}));
  // An input, and what is a view of one.
  Case same({}, "    y = torch.relu(x)\n    return torch.reshape(y, [5, 4, 6])\n");
  same.check(random_tensor({6, 5, 4}));
}

TEST_F(NnapiDevice, LimitsAreTheProgramsErrors) {
  Case c({}, "    return torch.relu(torch.tanh(x))\n");
  const Tensor x = random_tensor({1, 3, 100, 100});
  const MemoryBudget budget(200'000);  // two of four copies
  const LimitScope scope(&budget);
  try {
    c.placed(x);
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit) << error.what();
  }
}

TEST_F(NnapiDevice, PartsAreChosenByName) {
  std::vector<std::string> names;
  for (const device::DevicePart& part : nnapi_parts()) {
    names.push_back(part.name);
    EXPECT_EQ(part.description, "of NNAPI: processor, feature level 7");
  }
  EXPECT_EQ(names, (std::vector<std::string>{"torchlet-cpu", "torchlet-reference"}));
  device::DeviceConfig config;
  config.part = "torchlet-reference";
  EXPECT_STREQ(make_nnapi_device(config)->name(), "nnapi:torchlet-reference");
  config.part = "npu";
  try {
    make_nnapi_device(config);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "NNAPI has no device 'npu'; there are: torchlet-cpu, torchlet-reference");
  }
  const auto made = device::make_devices(
      std::vector<std::string>{"nnapi:torchlet-cpu", "nnapi:torchlet-reference", "cpu"}, {});
  ASSERT_EQ(made.size(), 3u);
  EXPECT_STREQ(made[0]->name(), "nnapi:torchlet-cpu");
  EXPECT_THROW(device::make_devices(std::vector<std::string>{"cpu:part"}, {}), Error);
}

TEST_F(NnapiDevice, APartRunsModels) {
  device::DeviceConfig config;
  config.part = "torchlet-reference";
  config.preference = Preference::kLowPower;
  config.precision = Precision::kFloat16;
  Case c({{"w", random_tensor({6, 6, 3, 3})}}, "    return torch.relu(torch.conv2d(x, self.w))\n",
         false, config);
  const Tensor x = random_tensor({1, 6, 9, 7});
  for (int run = 0; run < 2; ++run) cpu::Case::expect_near(c.placed(x), c.reference(x), 1e-2);
  EXPECT_EQ(c.refusals("nnapi:torchlet-reference"), "");
}

// Our library has a pool of its own.
TEST_F(NnapiDevice, HasAsManyThreadsAsOperators) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  Case c({{"w", random_tensor({32, 32, 3, 3})}}, "    return torch.conv2d(x, self.w)\n");
  const Tensor x = random_tensor({1, 32, 50, 50});
  std::thread([] {}).join();  // a sanitizer starts one of its own with the first
  set_num_threads(1);
  c.placed(x);
  const auto alone = threads();
  set_num_threads(4);
  c.placed(x);
  EXPECT_EQ(threads() - alone, 3);
  set_num_threads(1);
  c.placed(x);
  EXPECT_EQ(threads(), alone);
  set_num_threads(0);
}

TEST_F(NnapiDevice, ManyThreadsRunOneSegment) {
  Case c({{"w", random_tensor({6, 6, 3, 3})}, {"b", random_tensor({6})}},
         conv("[1, 1], [1, 1], [1, 1], 1"));
  c.placed(random_tensor({2, 6, 9, 7}));
  std::vector<Tensor> inputs, wanted, got(4);
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(random_tensor({2, 6, 9, 7}));
    wanted.push_back(c.reference(inputs.back()));
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 20; ++run) got[i] = c.placed(inputs[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 4; ++i) cpu::Case::expect_near(got[i], wanted[i], 1e-5);
  EXPECT_EQ(c.refusals(), "");
}

// "convert 240", "nnapi model aten::conv2d aten::relu": what was moved and computed.
class Heard : public EventSink {
 public:
  void record(const Event& event) override {
    EXPECT_LE(event.begin, event.end);
    std::string text = event.kernel;
    if (event.kernel == kCopyEvent || event.kernel == kConvertEvent) {
      text += " " + std::to_string(event.bytes);
    }
    for (const Node* node : event.operators) text += " " + node->kind().str();
    if (!event.operators.empty()) {
      on_hardware = event.on_hardware;
      EXPECT_LE(event.on_hardware, event.in_driver);
      EXPECT_LE(event.in_driver, event.end - event.begin);
    }
    all.push_back(text);
  }
  std::vector<std::string> all;
  double on_hardware = 0;

 private:
  EventScope scope_{this};
};

TEST_F(NnapiDevice, TellsWhatItMovesAndHowLongItComputes) {
  Case c({{"w", random_tensor({6, 3, 1, 1})}}, "    return torch.relu(torch.conv2d(x, self.w))\n");
  const Tensor x = random_tensor({1, 3, 5, 4});
  const std::string model = "nnapi model aten::conv2d aten::relu";
  const std::vector<std::string> converted = {"convert 240", model, "copy 480", "segment"};
  const std::vector<std::string> copied = {"copy 240", model, "copy 480", "segment"};
  c.placed(x);
  {
    const Heard heard;
    c.placed(x);
    EXPECT_EQ(heard.all, converted);
    EXPECT_GT(heard.on_hardware, 0);
  }
  const Tensor nhwc = x.contiguous(MemoryFormat::kChannelsLast);
  c.placed(nhwc);
  const Heard heard;
  c.placed(nhwc);
  EXPECT_EQ(heard.all, copied);
  c.placed(nhwc);
  EXPECT_EQ(heard.all.size(), 2 * copied.size());
}

TEST_F(NnapiDevice, ItsVersionIsItsDrivers) {
  EXPECT_TRUE(make_nnapi_device()->version().starts_with("torchlet-cpu "));
}

}  // namespace
}  // namespace torchlet::nnapi
