// Convolutions, poolings and products: what is around images, layouts, and what is no model.
#include <gtest/gtest.h>

#include "base/error.h"
#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32, kInts = ANEURALNETWORKS_TENSOR_INT32,
                  kBytes = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
constexpr const char* kDevices[] = {"reference", "cpu"};

std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1);
  return values;
}

// An operation of a float input of these sizes, with constants before its scalars.
struct Single {
  TestModel model;
  std::vector<uint32_t> inputs;

  explicit Single(std::vector<uint32_t> dims) { inputs.push_back(model.input(kFloat, dims)); }
  Single& weights(std::vector<uint32_t> dims, std::vector<float> values) {
    inputs.push_back(model.constant(kFloat, std::move(dims), std::move(values)));
    return *this;
  }
  Single& numbers(std::initializer_list<int32_t> values) {
    for (const int32_t value : values) inputs.push_back(model.integer(value));
    return *this;
  }
  Single& nchw(bool value) {
    inputs.push_back(model.boolean(value));
    return *this;
  }
  Single& gives(int32_t code) {
    model.operation(code, inputs, {model.output(kFloat, {})});
    return *this;
  }
  void check(const std::vector<uint32_t>& dims, const std::vector<float>& values,
             const std::vector<uint32_t>& want_dims, const std::vector<float>& want) {
    for (const char* device : kDevices) {
      const auto outputs = run(*model.compiled({device}), {dims}, values);
      EXPECT_EQ(outputs[0].dims, want_dims) << device;
      EXPECT_EQ(outputs[0].as<float>(), want) << device;
    }
  }
  void is_wrong() {
    for (const char* device : kDevices) EXPECT_THROW(model.compiled({device}), Error) << device;
  }
};

// Two filters for each of two channels: the channel itself, and twice as much.
TEST(Convolution, DepthMultiplierWithUnknownSizes) {
  for (const bool nchw : {false, true}) {
    Single depthwise({});
    depthwise.weights({1, 1, 1, 4}, {1, 2, 1, 2}).weights({4}, {0, 0, 0, 0.5f});
    depthwise.numbers({ANEURALNETWORKS_PADDING_SAME, 1, 1, 2, ANEURALNETWORKS_FUSED_NONE});
    depthwise.nchw(nchw).gives(ANEURALNETWORKS_DEPTHWISE_CONV_2D);
    if (nchw) {
      depthwise.check({1, 2, 1, 2}, {1, 2, 3, 4}, {1, 4, 1, 2}, {1, 2, 2, 4, 3, 4, 6.5f, 8.5f});
    } else {
      depthwise.check({1, 1, 2, 2}, {1, 3, 2, 4}, {1, 1, 2, 4}, {1, 2, 3, 6.5f, 2, 4, 4, 8.5f});
    }
  }
}

// A pixel of the padding is a pixel of none, but for the bias.
TEST(Convolution, TransposedBeyondWhatPixelsReach) {
  Single transposed({0, 1, 2, 1});
  transposed.weights({1, 1, 1, 1}, {10}).weights({1}, {0.5f});
  transposed.numbers({0, -2, 0, -1, 2, 1, ANEURALNETWORKS_FUSED_NONE}).nchw(false);
  transposed.gives(ANEURALNETWORKS_TRANSPOSE_CONV_2D);
  transposed.check({1, 1, 2, 1}, {1, 2}, {1, 2, 5, 1},
                   {10.5f, 0.5f, 20.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f});
}

// All pixels are cut off before what is added behind them.
TEST(Convolution, TransposedToNothingButTheBias) {
  Single transposed({1, 1, 2, 1});
  transposed.weights({1, 1, 1, 1}, {10}).weights({1}, {0.5f});
  transposed.numbers({2, -2, 0, 0, 1, 1, ANEURALNETWORKS_FUSED_NONE}).nchw(false);
  transposed.gives(ANEURALNETWORKS_TRANSPOSE_CONV_2D);
  transposed.check({1, 1, 2, 1}, {1, 2}, {1, 1, 2, 1}, {0.5f, 0.5f});
}

TEST(Convolution, TransposedToASizeThatIsAnInput) {
  TestModel model;
  const uint32_t x = model.input(kFloat, {1, 1, 2, 1});
  const uint32_t shape = model.input(kInts, {4});
  const uint32_t y = model.output(kFloat, {});
  model.operation(ANEURALNETWORKS_TRANSPOSE_CONV_2D,
                  {x, model.constant<float>(kFloat, {1, 1, 3, 1}, {1, 10, 100}),
                   model.constant<float>(kFloat, {1}, {0}), shape,
                   model.integer(ANEURALNETWORKS_PADDING_SAME), model.integer(2), model.integer(1),
                   model.integer(ANEURALNETWORKS_FUSED_NONE), model.boolean(false)},
                  {y});
  for (const char* device : kDevices) {
    const auto compiled = model.compiled({device});
    const auto even = run(*compiled, {{1, 1, 2, 1}, {4}}, std::vector<float>{1, 2},
                          std::vector<int32_t>{1, 1, 4, 1});
    EXPECT_EQ(even[0].as<float>(), (std::vector<float>{1, 10, 102, 20}));
    const auto odd = run(*compiled, {{1, 1, 2, 1}, {4}}, std::vector<float>{1, 2},
                         std::vector<int32_t>{1, 1, 3, 1});
    EXPECT_EQ(odd[0].as<float>(), (std::vector<float>{10, 102, 20}));
    EXPECT_THROW(run(*compiled, {{1, 1, 2, 1}, {4}}, std::vector<float>{1, 2},
                     std::vector<int32_t>{1, 1, -3, 1}),
                 Error);
  }
}

TEST(Convolution, WrongModels) {
  const auto conv = [](std::initializer_list<int32_t> numbers) {
    Single single({1, 4, 4, 2});
    single.weights({2, 3, 3, 2}, counted(36)).weights({2}, {0, 0});
    single.numbers(numbers).gives(ANEURALNETWORKS_CONV_2D).is_wrong();
  };
  conv({3, 1, 1, 0});  // no such scheme
  conv({1, 0, 1, 0});  // no stride
  conv({1, 1, 1, 4});  // no such activation
  conv({-1, 0, 0, 0, 1, 1, 0});
  Single multiplier({1, 4, 4, 2});
  multiplier.weights({1, 3, 3, 4}, counted(36)).weights({4}, counted(4));
  multiplier.numbers({1, 1, 1, 3, 0}).gives(ANEURALNETWORKS_DEPTHWISE_CONV_2D).is_wrong();
  Single two_filters({1, 4, 4, 4});
  two_filters.weights({2, 3, 3, 2}, counted(36)).weights({2}, counted(2));
  two_filters.numbers({1, 1, 1, 1, 0}).gives(ANEURALNETWORKS_DEPTHWISE_CONV_2D).is_wrong();
  Single pool({1, 4, 4, 2});
  pool.numbers({2, 0, 0, 0, 1, 1, 2, 2, 0}).gives(ANEURALNETWORKS_MAX_POOL_2D).is_wrong();
}

// Of a window of 2 x 2 with one pixel of padding behind.
TEST(Pooling, CountsOnlyWhatIsInside) {
  for (const bool nchw : {false, true}) {
    const std::vector<uint32_t> dims =
        nchw ? std::vector<uint32_t>{1, 1, 2, 3} : std::vector<uint32_t>{1, 2, 3, 1};
    Single average({});
    average.numbers({ANEURALNETWORKS_PADDING_SAME, 1, 1, 2, 2, ANEURALNETWORKS_FUSED_NONE});
    average.nchw(nchw).gives(ANEURALNETWORKS_AVERAGE_POOL_2D);
    average.check(dims, counted(6), dims, {3, 4, 4.5f, 4.5f, 5.5f, 6});
    Single most(dims);
    most.numbers({0, 1, 0, 1, 1, 1, 2, 2, ANEURALNETWORKS_FUSED_RELU6}).nchw(nchw);
    most.gives(ANEURALNETWORKS_MAX_POOL_2D);
    most.check(dims, {-1, -2, -3, 9, -5, -6}, dims, {6, 0, 0, 6, 0, 0});
  }
}

TEST(Products, InputsOfAnyRankAreRows) {
  for (const std::vector<uint32_t>& known : {std::vector<uint32_t>{}, {2, 1, 2}}) {
    Single layer(known);
    layer.weights({1, 2}, {1, 10}).weights({1}, {0.5f});
    layer.numbers({ANEURALNETWORKS_FUSED_NONE}).gives(ANEURALNETWORKS_FULLY_CONNECTED);
    layer.check({2, 1, 2}, {1, 2, 3, 4}, {2, 1}, {21.5f, 43.5f});
  }
}

// An input of bytes, weights of bytes and a bias in the scale of their products.
TEST(Products, BytesWithTheWeightsAsInputs) {
  TestModel model;
  const uint32_t x = model.input(kBytes, {2, 2}, 0.5f, 10);
  const uint32_t w = model.input(kBytes, {0, 2}, 2, 100);
  const uint32_t b = model.input(kInts, {0});
  const uint32_t y = model.output(kBytes, {}, 1, 50);
  model.operation(ANEURALNETWORKS_FULLY_CONNECTED,
                  {x, w, b, model.integer(ANEURALNETWORKS_FUSED_NONE)}, {y});
  for (const char* device : kDevices) {
    // [1, 2; -1, 0] . [2, -4] + 7
    const auto outputs =
        run(*model.compiled({device}), {{2, 2}, {1, 2}, {1}}, std::vector<uint8_t>{12, 14, 8, 10},
            std::vector<uint8_t>{101, 98}, std::vector<int32_t>{7});
    EXPECT_EQ(outputs[0].dims, (std::vector<uint32_t>{2, 1}));
    EXPECT_EQ(outputs[0].as<uint8_t>(), (std::vector<uint8_t>{51, 55}));
  }
}

TEST(Products, IntegersOfManyMatrices) {
  TestModel model;
  const uint32_t a = model.input(kInts, {2, 1, 2}), b = model.input(kInts, {2, 1, 2});
  const uint32_t y = model.output(kInts, {2, 1, 1});
  model.operation(ANEURALNETWORKS_BATCH_MATMUL, {a, b, model.boolean(false), model.boolean(true)},
                  {y});
  for (const char* device : kDevices) {
    const auto outputs =
        run(*model.compiled({device}), {{2, 1, 2}, {2, 1, 2}}, std::vector<int32_t>{1, 2, 3, 4},
            std::vector<int32_t>{5, 6, 1 << 28, -8});
    EXPECT_EQ(outputs[0].as<int32_t>(), (std::vector<int32_t>{17, 3 * (1 << 28) - 32}));
  }
}

}  // namespace
}  // namespace torchlet::nn
