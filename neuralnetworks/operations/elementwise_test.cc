#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "neuralnetworks/runtime/testing.h"
#include "neuralnetworks/translate/emitter.h"

namespace torchlet::nn {
namespace {

constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32, kInts = ANEURALNETWORKS_TENSOR_INT32,
                  kBytes = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM,
                  kSigned = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
constexpr const char* kDevices[] = {"reference", "cpu"};

// 5 - (-1.5) and the like, whatever the zero points.
TEST(Elementwise, SubtractsBytesOfDifferentScales) {
  TestModel model;
  const uint32_t a = model.input(kSigned, {0, 4}, 0.5f, -100);
  const uint32_t b = model.input(kSigned, {4}, 0.25f, 90);
  const uint32_t y = model.output(kSigned, {}, 1, 10);
  model.operation(ANEURALNETWORKS_SUB, {a, b, model.integer(ANEURALNETWORKS_FUSED_RELU6)}, {y});
  for (const char* device : kDevices) {
    // 5, 0, -14, 20 and -1.5, 4, -16, 9.25 -> 6.5, -4, 2, 10.75
    const auto outputs =
        run(*model.compiled({device}), {{1, 4}, {4}}, std::vector<int8_t>{-90, -100, -128, -60},
            std::vector<int8_t>{84, 106, 26, 127});
    EXPECT_EQ(outputs[0].dims, (std::vector<uint32_t>{1, 4}));
    EXPECT_EQ(outputs[0].as<int8_t>(), (std::vector<int8_t>{16, 10, 12, 16}));
  }
}

TEST(Elementwise, DividesIntegersDown) {
  TestModel model;
  const uint32_t a = model.input(kInts, {6}), b = model.input(kInts, {6});
  const uint32_t y = model.output(kInts, {6});
  model.operation(ANEURALNETWORKS_DIV, {a, b, model.integer(ANEURALNETWORKS_FUSED_NONE)}, {y});
  for (const char* device : kDevices) {
    const auto outputs =
        run(*model.compiled({device}), {{6}, {6}}, std::vector<int32_t>{5, -5, 5, -6, 7, INT32_MIN},
            std::vector<int32_t>{2, 2, -2, -3, 0, -1});
    EXPECT_EQ(outputs[0].as<int32_t>(), (std::vector<int32_t>{2, -3, -3, 2, 0, INT32_MIN}));
  }
}

TEST(Elementwise, SlopesAreBroadcast) {
  TestModel model;
  const uint32_t x = model.input(kFloat, {});  // of any rank
  const uint32_t alpha = model.constant<float>(kFloat, {2}, {0.5f, -2});
  const uint32_t y = model.output(kFloat, {});
  model.operation(ANEURALNETWORKS_PRELU, {x, alpha}, {y});
  for (const char* device : kDevices) {
    const auto outputs =
        run(*model.compiled({device}), {{2, 1, 2}}, std::vector<float>{-1, -1, 4, 3});
    EXPECT_EQ(outputs[0].dims, (std::vector<uint32_t>{2, 1, 2}));
    EXPECT_EQ(outputs[0].as<float>(), (std::vector<float>{-0.5f, 2, 4, 3}));
  }
}

TEST(Elementwise, OneSlopeForAll) {
  for (const std::vector<uint32_t>& sizes : {std::vector<uint32_t>{1}, {1, 1}, {1, 1, 1}}) {
    TestModel model;
    const uint32_t x = model.input(kFloat, {2, 2});
    const uint32_t alpha = model.constant<float>(kFloat, sizes, {0.5f});
    const uint32_t y = model.output(kFloat, {});
    model.operation(ANEURALNETWORKS_PRELU, {x, alpha}, {y});
    const std::vector<uint32_t> wanted =
        sizes.size() == 3 ? std::vector<uint32_t>{1, 2, 2} : std::vector<uint32_t>{2, 2};
    for (const char* device : kDevices) {
      const auto outputs =
          run(*model.compiled({device}), {{2, 2}}, std::vector<float>{-1, 2, -3, 0});
      EXPECT_EQ(outputs[0].dims, wanted);
      EXPECT_EQ(outputs[0].as<float>(), (std::vector<float>{-0.5f, 2, -1.5f, 0}));
    }
  }
}

TEST(Elementwise, ComparesBytesByWhatTheyMean) {
  TestModel model;
  const uint32_t a = model.input(kBytes, {3}, 1, 0), b = model.input(kBytes, {3}, 0.5f, 4);
  const uint32_t y = model.output(ANEURALNETWORKS_TENSOR_BOOL8, {3});
  model.operation(ANEURALNETWORKS_GREATER_EQUAL, {a, b}, {y});
  for (const char* device : kDevices) {
    const auto outputs = run(*model.compiled({device}), {{3}, {3}}, std::vector<uint8_t>{1, 1, 1},
                             std::vector<uint8_t>{5, 6, 7});
    EXPECT_EQ(outputs[0].as<uint8_t>(), (std::vector<uint8_t>{1, 1, 0}));
  }
}

TEST(Elementwise, CastsSaturate) {
  const std::vector<float> numbers = {-3.9f, 3.9f,  255.5f,
                                      3e9f,  -3e9f, std::numeric_limits<float>::infinity()};
  for (const auto& [type, want] :
       {std::pair(kInts, std::vector<int32_t>{-3, 3, 255, INT32_MAX, INT32_MIN, INT32_MAX}),
        std::pair(kBytes, std::vector<int32_t>{0, 3, 255, 255, 0, 255})}) {
    TestModel model;
    const uint32_t x = model.input(kFloat, {6});
    const uint32_t y = model.output(type, {6}, type == kBytes ? 0.1f : 0, type == kBytes ? 7 : 0);
    model.operation(ANEURALNETWORKS_CAST, {x}, {y});
    for (const char* device : kDevices) {
      const auto outputs = run(*model.compiled({device}), {{6}}, numbers);
      if (type == kInts) {
        EXPECT_EQ(outputs[0].as<int32_t>(), want);
      } else {
        EXPECT_EQ(outputs[0].as<uint8_t>(), std::vector<uint8_t>(want.begin(), want.end()));
      }
    }
  }
}

// Of the bytes from `zero_point` on, which are as far apart as the scale.
TEST(Elementwise, ActivationsThatHoldAnyway) {
  constexpr int32_t kNone = ANEURALNETWORKS_FUSED_NONE, kRelu = ANEURALNETWORKS_FUSED_RELU,
                    kRelu1 = ANEURALNETWORKS_FUSED_RELU1, kRelu6 = ANEURALNETWORKS_FUSED_RELU6;
  const auto needed = [](int32_t code, float scale, int32_t zero_point, int32_t type = kBytes) {
    Operand result;
    result.type = type;
    result.scale = scale;
    result.zero_point = zero_point;
    return needed_activation(code, result);
  };
  EXPECT_EQ(needed(kRelu, 1, 0), kNone);
  EXPECT_EQ(needed(kRelu, 1, -128, kSigned), kNone);
  EXPECT_EQ(needed(kRelu, 1, 1), kRelu);
  EXPECT_EQ(needed(kRelu6, 6.0f / 255, 0), kNone);
  EXPECT_EQ(needed(kRelu6, 6.1f / 255, 0), kRelu6);
  EXPECT_EQ(needed(kRelu6, 6.0f / 255, 10), kRelu);
  EXPECT_EQ(needed(kRelu1, 1.0f / 128, 128), kNone);
  EXPECT_EQ(needed(kRelu1, 1.0f / 128, 0), kRelu1);
  EXPECT_EQ(needed(kRelu1, 1.0f / 128, 250), kRelu1);
}

TEST(Elementwise, SizesThatDoNotFitAreErrors) {
  TestModel model;
  const uint32_t a = model.input(kFloat, {0}), b = model.input(kFloat, {0});
  const uint32_t y = model.output(kFloat, {});
  model.operation(ANEURALNETWORKS_MAXIMUM, {a, b}, {y});
  for (const char* device : kDevices) {
    EXPECT_THROW(
        run(*model.compiled({device}), {{2}, {3}}, std::vector<float>(2), std::vector<float>(3)),
        Error);
  }
}

}  // namespace
}  // namespace torchlet::nn
