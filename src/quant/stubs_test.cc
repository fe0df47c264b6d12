#include "quant/stubs.h"

#include <gtest/gtest.h>
#include <torchlet/quantize.h>
#include <torchlet/torchlet.h>

#include <algorithm>

#include "quant/program.h"

namespace torchlet::quant {
namespace {

Tensor ramp(std::initializer_list<int64_t> sizes) {
  const Tensor tensor = empty(IntSpan(sizes.begin(), sizes.size()), DType::kFloat32);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data_ptr<float>()[i] = static_cast<float>(i * 37 % 101 - 50) / 20;
  }
  return tensor;
}

// forward(x) = after(dequant(sum(pool(quant(before(x))), relu(conv(pool(...))))).mean([2, 3])).
class Stubs : public testing::TestWithParam<const char*> {
 protected:
  const Module model_ = load(std::string("tests/fixtures/") + GetParam() + ".pt");
  const std::vector<std::vector<Value>> calls_ = {{Value(ramp({1, 3, 8, 8}))}};
};

std::vector<std::string> quantized_layers(const Quantized& result) {
  std::vector<std::string> layers;
  for (const LayerReport& layer : result.layers) {
    if (layer.quantized) layers.push_back(layer.op);
  }
  return layers;
}

size_t count(const Module& module, const std::string& op) {
  size_t found = 0;
  for (const auto& [name, times] : module.operators()) found += name == op ? times : 0;
  return found;
}

TEST_P(Stubs, WhatIsOutsideStaysFloat) {
  const Quantized result = torchlet::quantize(model_, calls_);
  // As prepare() and convert() do it in PyTorch.
  EXPECT_EQ(quantized_layers(result), (std::vector<std::string>{"quantize", "conv2d_relu", "add"}));
  EXPECT_EQ(result.layers[1].path, "quant");
  for (const LayerReport& layer : result.layers) {
    EXPECT_EQ(layer.reason, layer.quantized ? "" : "not between QuantStub and DeQuantStub");
  }
  EXPECT_EQ(count(result.module, "aten::quantize_per_tensor"), 1u);
  EXPECT_EQ(count(result.module, "aten::dequantize.self"), 1u);
  EXPECT_EQ(count(result.module, "quantized::add"), 1u);
  EXPECT_EQ(count(result.module, "aten::linear"), 1u);
  EXPECT_NE(result.module.forward(calls_[0]).to_tensor().numel(), 0);
}

TEST_P(Stubs, ModesThatNeedNoCalibrationDoNotKnowThem) {
  QuantizationOptions options;
  options.mode = QuantizationMode::kDynamic;
  const Quantized result = torchlet::quantize(model_, {}, options);
  EXPECT_EQ(quantized_layers(result), std::vector<std::string>{"linear"});
}

TEST_P(Stubs, AQuantizedInterfaceNeedsThemAtBothEnds) {
  QuantizationOptions options;
  options.mode = QuantizationMode::kFull;
  try {
    torchlet::quantize(model_, calls_, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  }
}

TEST_P(Stubs, AreNodesUntilTheyAreRemoved) {
  Program program(model_, "forward");
  EXPECT_TRUE(has_stubs(*program.graph));
  remove_stubs(*program.graph);
  program.graph->verify();
  EXPECT_FALSE(has_stubs(*program.graph));
}

INSTANTIATE_TEST_SUITE_P(Both, Stubs, testing::Values("stubs_scripted", "stubs_traced"));

}  // namespace
}  // namespace torchlet::quant
