#include "kernels/simd/target_test.h"
#include "ops/core/testing.h"
#include "ops/engines/quantize.h"

// Expected numbers are PyTorch 1.13's with the engine QNNPACK.
namespace torchlet::ops {
namespace {

constexpr double kInf = INFINITY, kNan = NAN;
constexpr DType kU8 = DType::kUInt8, kI8 = DType::kInt8, kBool = DType::kBool;

Value code(DType dtype) { return Value(static_cast<int64_t>(dtype)); }
Tensor quantized(const Tensor& x, double scale, int64_t zero_point, DType dtype = DType::kQUInt8) {
  return result_of("aten::quantize_per_tensor", "", {x, scale, zero_point, code(dtype)});
}
Tensor per_channel(const Tensor& x, const Tensor& scales, const Tensor& zero_points, int64_t axis) {
  return result_of("aten::quantize_per_channel", "",
                   {x, scales, zero_points, axis, code(DType::kQUInt8)});
}
Tensor integers(const Tensor& q) { return result_of("aten::int_repr", "", {q}); }

TEST(Quantize, RoundsHalfToEvenAndSaturates) {
  const Tensor x = make({-1, 0, 0.25, 0.75, 1.25, 100, 1000, kNan, kInf, -kInf});
  expect_tensor(integers(quantized(x, 0.5, 3)), {1, 3, 3, 5, 5, 203, 255, 0, 0, 0}, kU8);
  const Tensor y = make({-100, -1, 0.25, 0.75, 100});
  expect_tensor(integers(quantized(y, 0.5, -3, DType::kQInt8)), {-128, -5, -3, -1, 127}, kI8);
  expect_tensor(integers(quantized(make({1e9, -2.5}), 0.5, 0, DType::kQInt32)), {2e9, -5},
                DType::kInt32);
  expect_tensor(integers(quantized(make({1}, DType::kFloat32, {}), 0.5, 3)), {5}, kU8, {});
  EXPECT_THROW(quantized(ints({1}), 0.5, 0), Error);
  EXPECT_THROW(quantized(make({1}), 0.5, 0, kI8), Error);
}

TEST(Quantize, ManyNumbersAsOne) {
  kernels::for_each_target([] {
    std::vector<double> numbers, unsigned_integers, signed_integers;
    for (int i = -150; i < 150; ++i) {
      numbers.push_back(i * 0.75);
      const double q = std::nearbyint(i * 1.5);
      unsigned_integers.push_back(std::clamp(q + 20, 0.0, 255.0));
      signed_integers.push_back(std::clamp(q - 7, -128.0, 127.0));
    }
    const Tensor x = make(numbers);
    expect_tensor(integers(quantized(x, 0.5, 20)), unsigned_integers, kU8);
    expect_tensor(integers(quantized(x, 0.5, -7, DType::kQInt8)), signed_integers, kI8);
  });
  // Beyond what floats hold exactly.
  expect_tensor(integers(quantized(make({-1, 0, 1e9}), 0.5, 20000001)), {255, 255, 255}, kU8);
}

TEST(Quantize, EmptyAndStrided) {
  expect_tensor(result_of("aten::dequantize", "self", {quantized(make({}), 0.5, 3)}), {});
  const Tensor x = make({1, 2, 3, 4, 5, 6}, DType::kFloat32, {2, 3});
  expect_tensor(integers(quantized(transpose(x, 0, 1), 1, 0)), {1, 4, 2, 5, 3, 6}, kU8, {3, 2});
  expect_tensor(result_of("aten::dequantize", "self", {transpose(quantized(x, 1, 0), 0, 1)}),
                {1, 4, 2, 5, 3, 6}, DType::kFloat32, {3, 2});
}

TEST(Quantize, PerChannel) {
  const Tensor x = make({1, 2, 3, 4}, DType::kFloat32, {2, 2});
  const Tensor q = per_channel(x, make({0.5, 0.25}), ints({1, 2}), 1);
  expect_tensor(integers(q), {3, 10, 7, 18}, kU8, {2, 2});
  expect_tensor(result_of("aten::dequantize", "self", {q}), {1, 2, 3, 4}, DType::kFloat32, {2, 2});
  expect_op("aten::q_per_channel_axis", "", {q}, 1);
  expect_tensor(result_of("aten::q_per_channel_zero_points", "", {q}), {1, 2}, DType::kInt64);
  EXPECT_THROW(call_op("aten::q_scale", "", {q}), Error);
  EXPECT_THROW(per_channel(x, make({0.5, 0.25, 1}), ints({1, 2, 3}), 1), Error);
  // Zero points that are floats are not rounded.
  const Tensor f = per_channel(x, make({0.5, 0.25}), make({1.5, 2.5}), 0);
  expect_tensor(integers(f), {4, 6, 14, 18}, kU8, {2, 2});
  expect_tensor(result_of("aten::dequantize", "self", {f}), {1.25, 2.25, 2.875, 3.875},
                DType::kFloat32, {2, 2});
}

// reduce_range says nothing to QNNPACK.
TEST(Quantize, DynamicallyByItsOwnRange) {
  for (const bool reduce : {false, true}) {
    const Tensor q = result_of("aten::quantize_per_tensor_dynamic", "",
                               {make({-1, 0, 3}), code(DType::kQUInt8), reduce});
    expect_op("aten::q_scale", "", {q}, 0.01568627450980392);
    expect_op("aten::q_zero_point", "", {q}, 64);
    expect_tensor(integers(q), {0, 64, 255}, kU8);
  }
  const Tensor zero = result_of("aten::quantize_per_tensor_dynamic", "",
                                {make({0, 0}), code(DType::kQInt8), false});
  expect_op("aten::q_scale", "", {zero}, 0.1);
  expect_tensor(integers(zero), {127, 127}, kI8);
  expect_op("aten::_choose_qparams_per_tensor", "", {make({2, 3}), true},
            Value::tuple({0.011764705882352941, 0}));
}

TEST(Quantize, FakeQuantization) {
  const Tensor x = make({-1, 0.3, 0.75, 100});
  expect_tensor(result_of("aten::fake_quantize_per_tensor_affine", "", {x, 0.5, 1, 0, 255}),
                {-0.5, 0.5, 1, 100});
  const std::vector<Value> args = {x, 0.5, 1, 0, 15};
  const char* name = "aten::fake_quantize_per_tensor_affine_cachemask";
  expect_tensor(result_of(name, "", args), {-0.5, 0.5, 1, 7});
  expect_tensor(result_of(name, "", args, 1), {0, 1, 1, 0}, kBool);
  const Tensor row = make({1, -2, 0.3}, DType::kFloat32, {1, 3});
  const Tensor scales = make({0.5, 0.25, 0.1});
  const char* channels = "aten::fake_quantize_per_channel_affine";
  expect_tensor(result_of(channels, "", {row, scales, make({1, 2, 3}, DType::kInt32), 1, 0, 7}),
                {1, -0.5, 0.3}, DType::kFloat32, {1, 3});
  const Tensor halves = make({0.75, 0.25}, DType::kFloat32, {1, 2}), steps = make({0.5, 0.5});
  auto per_channel = [&](const Tensor& zero_points) {
    return result_of(channels, "", {halves, steps, zero_points, 1, 0, 7});
  };
  expect_tensor(per_channel(make({1, 1}, DType::kInt32)), {1, 0}, DType::kFloat32, {1, 2});
  expect_tensor(per_channel(make({1, 1})), {0.5, 0.5}, DType::kFloat32, {1, 2});
  expect_tensor(per_channel(make({1.5, 1.5})), {0.75, 0.25}, DType::kFloat32, {1, 2});
  expect_tensor(result_of("aten::_fake_quantize_learnable_per_tensor_affine", "",
                          {make({0.75, 0.25, -0.25}), make({0.5}), make({1}), 0, 7}),
                {1, 0, 0});
  EXPECT_THROW(call_op("aten::fake_quantize_per_tensor_affine", "", {x, 0.5, 300, 0, 255}), Error);
  EXPECT_THROW(call_op("aten::fake_quantize_per_tensor_affine", "", {x, 0.5, 1, 3, 2}), Error);
  EXPECT_THROW(call_op(channels, "", {row, scales, make({1, 2, 8}, DType::kInt32), 1, 0, 7}),
               Error);
}

// Operators on real numbers that PyTorch also has for quantized ones.
TEST(Quantize, FloatOperatorsKeepOrChooseTheScale) {
  const Tensor q = quantized(make({-4, -1, 0, 3}), 0.1, 50);
  const Tensor sigmoid = result_of("aten::sigmoid", "", {q});
  expect_tensor(integers(sigmoid), {5, 69, 128, 244}, kU8);
  expect_op("aten::q_scale", "", {sigmoid}, 1.0 / 256);
  expect_tensor(integers(result_of("aten::tanh", "", {q})), {0, 31, 128, 255}, kU8);
  expect_tensor(integers(result_of("aten::relu", "", {q})), {50, 50, 50, 80}, kU8);
  EXPECT_THROW(call_op("aten::sin", "", {q}), Error);
}

TEST(Quantize, WhatLostItsQuantizerIsAnError) {
  const Tensor q = quantize(ramp({2, 2}), DType::kQUInt8, per_tensor_quantizer(0.1, 3));
  EXPECT_THROW(call_op("aten::hinge_embedding_loss", "", {ramp({2, 2}), q}), Error);
  EXPECT_THROW(call_op("aten::normal", "Tensor_float", {q}), Error);
  auto quantizer = std::make_shared<Quantizer>();
  quantizer->qscheme = QScheme::kPerChannelAffine;
  quantizer->scales = make({0.1, 0.2}, DType::kFloat64);
  quantizer->zero_points = ints({0, 1});
  const Tensor per_channel = quantize(ramp({2, 2}), DType::kQUInt8, quantizer);
  EXPECT_THROW(call_op("aten::sum", "out", {ramp({2, 2}), Value(), per_channel}), Error);
}

}  // namespace
}  // namespace torchlet::ops
