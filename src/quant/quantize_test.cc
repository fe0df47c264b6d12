#include <gtest/gtest.h>
#include <torchlet/quantize.h>
#include <torchlet/torchlet.h>

#include <algorithm>
#include <cmath>

#include "ops/engines/quantize.h"
#include "tensor/npy.h"

namespace torchlet {
namespace {

Tensor noise(std::initializer_list<int64_t> sizes, uint64_t seed) {
  const Tensor tensor = empty(IntSpan(sizes.begin(), sizes.size()), DType::kFloat32);
  uint64_t state = seed;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    tensor.data_ptr<float>()[i] =
        static_cast<float>(static_cast<double>(state >> 11) * 0x1p-52 - 1);
  }
  return tensor;
}

const std::string kConvNet = "tests/fixtures/traced_convnet.pt";

std::vector<std::vector<Value>> pictures() {
  std::vector<std::vector<Value>> calls;
  for (uint64_t seed = 1; seed <= 4; ++seed) calls.push_back({Value(noise({1, 3, 8, 8}, seed))});
  return calls;
}

bool uses(const Module& module, const std::string& op) {
  return std::ranges::any_of(module.operators(),
                             [&](const auto& used) { return used.first == op; });
}

double sqnr(const Tensor& exact, const Tensor& other) {
  double signal = 0, error = 0;
  for (int64_t i = 0; i < exact.numel(); ++i) {
    const auto x = static_cast<double>(exact.contiguous().data_ptr<float>()[i]);
    const auto y = static_cast<double>(other.contiguous().data_ptr<float>()[i]);
    signal += x * x;
    error += (x - y) * (x - y);
  }
  return 10 * std::log10(signal / error);
}

TEST(Quantize, GivesNearlyTheSameWithQuantizedOperators) {
  const Module model = load(kConvNet);
  const auto calls = pictures();
  const Quantized result = quantize(model, calls);
  EXPECT_TRUE(uses(result.module, "quantized::conv2d_relu.new"));
  EXPECT_TRUE(uses(result.module, "quantized::linear"));
  EXPECT_FALSE(uses(result.module, "aten::_convolution"));
  for (const auto& call : calls) {
    EXPECT_GT(sqnr(model.forward(call).to_tensor(), result.module.forward(call).to_tensor()), 25);
  }
  // The float weights are gone, the model that they came from is as it was.
  EXPECT_TRUE(result.module.named_parameters().empty());
  EXPECT_FALSE(uses(model, "aten::quantize_per_tensor"));
}

TEST(Quantize, TellsWhatBecameOfEachLayer) {
  const Quantized result = quantize(load(kConvNet), pictures());
  ASSERT_EQ(result.layers.size(), 3u);
  for (const LayerReport& layer : result.layers) {
    EXPECT_TRUE(layer.quantized) << layer.reason;
    EXPECT_GT(layer.sqnr_db, 20);
    EXPECT_GT(layer.scale, 0);
    EXPECT_LT(layer.low, layer.high + 1e-9);
    EXPECT_EQ(layer.weight_bytes, 4 * layer.quantized_weight_bytes);
    double count = 0;
    for (const double bin : layer.histogram) count += bin;
    EXPECT_GT(count, 0);
  }
  EXPECT_EQ(result.layers[2].op, "linear");
}

TEST(Quantize, LeavesWhatIsNamedFloat) {
  QuantizationOptions options;
  options.skip = {"linear"};
  const Quantized skipped = quantize(load(kConvNet), pictures(), options);
  EXPECT_FALSE(skipped.layers[2].quantized);
  EXPECT_EQ(skipped.layers[2].reason, "skipped");
  EXPECT_FALSE(uses(skipped.module, "quantized::linear"));
  options.skip.clear();
  options.only = {"linear"};
  const Quantized only = quantize(load(kConvNet), pictures(), options);
  EXPECT_TRUE(only.layers[2].quantized);
  EXPECT_FALSE(only.layers[0].quantized);
}

TEST(Quantize, TellsHowLongLayersTake) {
  const std::vector<std::vector<Value>> calls = {{Value(noise({1, 3, 32, 32}, 1))}};
  QuantizationOptions options;
  options.measure_times = true;
  options.skip = {"mobilenet.classifier"};
  const Quantized result = quantize(load("models/digits_mobilenet_v2.pt"), calls, options);
  size_t sums = 0;
  for (size_t i = 0; i < result.layers.size(); ++i) {
    const LayerReport& layer = result.layers[i];
    if (layer.op == "add") {  // a part of the convolution before it, in the float model
      ++sums;
      EXPECT_EQ(layer.timed_with, i - 1);
    } else {
      EXPECT_FALSE(layer.timed_with);
    }
    for (const RunTime& time : {layer.float_time, layer.quantized_time}) {
      EXPECT_GT(time.least_ms, 0) << layer.path;
      EXPECT_LE(time.least_ms, time.median_ms);
    }
    EXPECT_EQ(layer.quantized, i + 1 < result.layers.size());
  }
  EXPECT_EQ(sums, 3u);
  EXPECT_EQ(quantize(load(kConvNet), pictures()).layers[0].float_time.least_ms, 0);
}

TEST(Quantize, TellsHowLongDynamicLayersTake) {
  QuantizationOptions options;
  options.mode = QuantizationMode::kDynamic;
  options.measure_times = true;
  const std::vector<std::vector<Value>> calls = {{load_npy("tests/fixtures/recurrent.in0.npy")}};
  const Quantized result = quantize(load("tests/fixtures/recurrent.pt"), calls, options);
  ASSERT_FALSE(result.layers.empty());
  for (const LayerReport& layer : result.layers) {
    EXPECT_GT(layer.float_time.least_ms, 0) << layer.path;
    EXPECT_GT(layer.quantized_time.least_ms, 0) << layer.path;
  }
}

TEST(Quantize, EveryRangeMethodWorks) {
  const auto calls = pictures();
  const Module model = load(kConvNet);
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kMovingAverage, RangeMethod::kHistogram,
        RangeMethod::kL2, RangeMethod::kPercentile, RangeMethod::kEntropy}) {
    QuantizationOptions options;
    options.range = method;
    const Quantized result = quantize(model, calls, options);
    EXPECT_GT(
        sqnr(model.forward(calls[0]).to_tensor(), result.module.forward(calls[0]).to_tensor()), 12)
        << static_cast<int>(method);
  }
}

ErrorCode error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(Quantize, WritesTypesThatHangOnTests) {
  const Module model = load("tests/fixtures/refined.pt");
  const auto calls = pictures();
  const Quantized result = quantize(model, calls);
  EXPECT_TRUE(uses(result.module, "quantized::conv2d.new"));
  EXPECT_GT(sqnr(model.forward(calls[0]).to_tensor(), result.module.forward(calls[0]).to_tensor()),
            30);
}

TEST(Quantize, TrainingModeEndsOnRequest) {
  const Module model = load("tests/fixtures/scripted_convnet.pt");
  model.submodule("features.1").setattr("training", true);
  const auto calls = pictures();
  try {
    quantize(model, calls);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("'features.1' is in training mode; pass --eval"),
              std::string::npos);
  }
  QuantizationOptions options;
  options.eval = true;
  const Quantized result = quantize(model, calls, options);
  EXPECT_TRUE(uses(result.module, "quantized::conv2d_relu.new"));
  EXPECT_FALSE(uses(result.module, "aten::batch_norm"));
  EXPECT_TRUE(model.submodule("features.1").attr("training").to_bool());
}

TEST(Quantize, SaysWhatIsWrong) {
  const Module model = load(kConvNet);
  EXPECT_EQ(error_of([&] { quantize(model, {}); }), ErrorCode::kInvalidArgument);
  QuantizationOptions options;
  options.method = "backward";
  EXPECT_EQ(error_of([&] { quantize(model, pictures(), options); }), ErrorCode::kNotFound);
  options = {};
  options.only = {"no_such_module"};
  EXPECT_EQ(error_of([&] { quantize(model, pictures(), options); }), ErrorCode::kUnsupported);
  options = {};
  options.most_top1_drop = 0.01;
  EXPECT_EQ(error_of([&] { quantize(model, pictures(), options); }), ErrorCode::kInvalidArgument);
  options.labels = {{0}, {0}, {0}, {99}};
  EXPECT_EQ(error_of([&] { quantize(model, pictures(), options); }), ErrorCode::kInvalidArgument);
  const std::vector<std::vector<Value>> wrong = {{Value(noise({1, 5, 8, 8}, 1))}};
  try {
    quantize(model, wrong);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("calibration input 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace torchlet
