#include "quant/weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/engines/quantize.h"
#include "tensor/containers.h"

namespace torchlet::quant {
namespace {

Tensor make(std::initializer_list<int64_t> sizes, std::initializer_list<float> values) {
  const Tensor tensor = empty(IntSpan(sizes.begin(), sizes.size()), DType::kFloat32);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

TEST(Weights, EachChannelHasAScale) {
  const Tensor weight = make({2, 3}, {0.1f, -0.5f, 0.3f, 2, -1, 0.25f});
  const Tensor quantized = quantize_weight(weight, {}, {true, 1, {}});
  ASSERT_EQ(quantized.dtype(), DType::kQInt8);
  const Tensor scales = quantized.q_per_channel_scales();
  // Within the largest weight's step of 1/127.5 of it.
  EXPECT_NEAR(scales.data_ptr<double>()[0], 0.5 / 127.5, 0.5 / 127.5 * 0.02);
  EXPECT_NEAR(scales.data_ptr<double>()[1], 2 / 127.5, 2 / 127.5 * 0.02);
  const Tensor back = ops::dequantize(quantized);
  for (int64_t i = 0; i < 6; ++i) {
    const double step = scales.data_ptr<double>()[i / 3];
    EXPECT_NEAR(back.data_ptr<float>()[i], weight.data_ptr<float>()[i], step * 0.51);
  }
}

TEST(Weights, OneScaleForAll) {
  const Tensor weight = make({2, 3}, {0.1f, -0.5f, 0.3f, 2, -1, 0.25f});
  const Tensor quantized = quantize_weight(weight, {}, {false, 1, {}});
  EXPECT_EQ(quantized.qscheme(), QScheme::kPerTensorAffine);
  EXPECT_NEAR(quantized.q_scale(), 2 / 127.5, 2 / 127.5 * 0.02);
  EXPECT_EQ(quantized.q_zero_point(), 0);
}

TEST(Weights, BiasOfAnEmptyChannelFits) {
  const Tensor weight = make({1, 2}, {0, 1e-20f}), bias = make({1}, {5});
  const double input_scale = 0.01;
  const Tensor quantized = quantize_weight(weight, bias, {true, input_scale, {}});
  const double scale = quantized.q_per_channel_scales().data_ptr<double>()[0];
  EXPECT_LT(5 / (scale * input_scale), 0x1p30);
}

// The mean output is kept: weights 0.1 and 0.26 on inputs whose means are 1 and 2.
TEST(Weights, BiasTakesTheMeanErrorOfRounding) {
  WeightedLayer layer;
  layer.weight = make({1, 3}, {0.1003f, 0.2607f, 1});
  layer.bias = make({1}, {0.5f});
  const std::vector<double> means = {1, 2, 0};
  const Value packed = pack(layer, LayerKind::kLinear, {true, 0.01, means});
  const auto state = packed.custom_ref().get_state().to_tuple();
  const Tensor weight = ops::dequantize(state[0].to_tensor());
  const float* w = weight.data_ptr<float>();
  const float bias = state[1].to_tensor().data_ptr<float>()[0];
  EXPECT_NEAR(w[0] + 2 * w[1] + bias, 0.1003 + 2 * 0.2607 + 0.5, 1e-6);
}

}  // namespace
}  // namespace torchlet::quant
