#include "neuralnetworks/runtime/compiled_model.h"

#include <gtest/gtest.h>

#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

const std::vector<std::vector<std::string>> kDevices = {{"reference"}, {"cpu"}};

TEST(CompiledModel, AddsWithBroadcastAndActivation) {
  TestModel model;
  const uint32_t a = model.input(ANEURALNETWORKS_TENSOR_FLOAT32, {2, 3});
  const uint32_t b = model.constant<float>(ANEURALNETWORKS_TENSOR_FLOAT32, {3}, {1, -9, 3});
  const uint32_t y = model.output(ANEURALNETWORKS_TENSOR_FLOAT32, {2, 3});
  model.operation(ANEURALNETWORKS_ADD, {a, b, model.integer(ANEURALNETWORKS_FUSED_RELU6)}, {y});
  for (const auto& devices : kDevices) {
    const auto outputs =
        run(*model.compiled(devices), {{2, 3}}, std::vector<float>{1, 2, 3, 4, 5, 6});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].dims, (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(outputs[0].as<float>(), (std::vector<float>{2, 0, 6, 5, 0, 6}));
  }
}

// A window of 2 x 2 with SAME padding has nothing before and one after.
TEST(CompiledModel, ConvolvesQuantizedImagesWithUnevenPadding) {
  for (const bool sizes_are_known : {true, false}) {
    TestModel model;
    const std::vector<uint32_t> dims = {1, 2, 2, 1};
    const uint32_t x =
        model.input(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED,
                    sizes_are_known ? dims : std::vector<uint32_t>{0, 0, 0, 0}, 0.5f, -128);
    const uint32_t w = model.constant<int8_t>(ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL,
                                              {2, 2, 2, 1}, {1, 1, 1, 1, 2, 0, 0, -2});
    model.operand(w).channel_scales = {0, {1.0f, 0.5f}};
    const uint32_t b = model.constant<int32_t>(ANEURALNETWORKS_TENSOR_INT32, {2}, {0, 4});
    const uint32_t y = model.output(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, {}, 1, 0);
    model.operation(ANEURALNETWORKS_CONV_2D,
                    {x, w, b, model.integer(ANEURALNETWORKS_PADDING_SAME), model.integer(1),
                     model.integer(1), model.integer(ANEURALNETWORKS_FUSED_NONE)},
                    {y});
    // 1, 2, 3, 4
    const std::vector<int8_t> image = {-126, -124, -122, -120};
    for (const auto& devices : kDevices) {
      const auto outputs = run(*model.compiled(devices), {dims}, image);
      EXPECT_EQ(outputs[0].dims, (std::vector<uint32_t>{1, 2, 2, 2}));
      EXPECT_EQ(outputs[0].as<int8_t>(), (std::vector<int8_t>{10, -2, 6, 3, 7, 4, 4, 5}));
    }
  }
}

}  // namespace
}  // namespace torchlet::nn
