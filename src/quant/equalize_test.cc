#include "quant/equalize.h"

#include <gtest/gtest.h>
#include <torchlet/quantize.h>
#include <torchlet/torchlet.h>

#include <cmath>
#include <cstring>

#include "graph/clone.h"
#include "passes/analysis/constants.h"
#include "quant/channel_scales.h"
#include "quant/probe.h"
#include "tensor/containers.h"

namespace torchlet::quant {
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

// ---- the divisors ----

// Two 1x1 convolutions of 4 channels, whose c-th inner one is divided by divisors[c].
struct TwoLayers {
  explicit TwoLayers(const std::vector<float>& divisors)
      : first(layer(1)), second(layer(2)), importance(4, 1) {
    for (size_t c = 0; c < 4; ++c) {
      for (size_t i = 0; i < 4; ++i) {
        first.data()[c * 4 + i] = (i % 2 ? -0.5f : 0.5f) / divisors[c];
        second.data()[i * 4 + c] = 0.5f * divisors[c];
      }
      before.high.push_back(2 / divisors[c]);
      behind.input_power.push_back(0.3 / divisors[c] / divisors[c]);
    }
    before.low.assign(4, 0);
    before.input_power.assign(4, 0.3);
    behind.low.assign(4, -1);
    behind.high.assign(4, 1);
  }
  static WeightMatrix layer(uint64_t seed) {
    return WeightMatrix(WeightedLayer{noise({4, 4, 1, 1}, seed), {}, {1, 1}, {0, 0}, {1, 1}, 1});
  }
  std::vector<double> scales(double bound, bool per_channel = false) const {
    return best_scales({first, second, before, behind, -1e300, bound, importance}, per_channel);
  }

  WeightMatrix first, second;
  ChannelStatistics before, behind;
  std::vector<double> importance;
};

TEST(ChannelScales, MakeChannelsAlike) {
  const std::vector<double> scales = TwoLayers({1, 16, 1, 16}).scales(1e300);
  ASSERT_EQ(scales.size(), 4u);
  EXPECT_EQ(scales[0], scales[2]);
  EXPECT_EQ(scales[1], scales[3]);
  // Less a factor for values that calibration has not seen.
  EXPECT_EQ(scales[0] / scales[1], 8);
}

TEST(ChannelScales, LeaveAloneWhatIsAlike) {
  EXPECT_TRUE(TwoLayers({1, 1, 1, 1}).scales(1e300).empty());
}

TEST(ChannelScales, LeaveChannelsThatAreCut) {
  // Channel 0 reaches 2, where the activation cuts: no other goes beyond it.
  const std::vector<double> scales = TwoLayers({1, 16, 16, 16}).scales(2);
  ASSERT_EQ(scales.size(), 4u);
  EXPECT_EQ(scales[0], 1);
  EXPECT_EQ(scales[1], 1.0 / 8);
}

// ---- whole programs ----

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

std::vector<std::vector<Value>> pictures() {
  std::vector<std::vector<Value>> calls;
  for (uint64_t seed = 1; seed <= 4; ++seed) calls.push_back({Value(noise({1, 3, 8, 8}, seed))});
  return calls;
}

// Makes one channel between the first two convolutions 64 times as large as the others.
void upset(Program& program) {
  const std::vector<Layer> layers = find_layers(*program.graph);
  const auto change = [&](size_t layer, const char* name, float factor, int64_t first) {
    Node& node = *layers[layer].node;
    const size_t at = *node.op()->schema.find_argument(name);
    const Tensor changed = passes::constant_of(node.input(at))->to_tensor().clone().contiguous();
    const int64_t each = changed.numel() / changed.size(0);
    for (int64_t i = 0; i < each; ++i) changed.data_ptr<float>()[first * each + i] *= factor;
    node.replace_input(at, passes::insert_constant(&node, Value(changed), types::tensor()));
  };
  change(0, "weight", 64, 1);
  change(0, "bias", 64, 1);
  change(1, "weight", 1.0f / 64, 1);  // of a depthwise convolution
}

Tensor answer(const Program& program, const std::vector<Value>& call) {
  ProbedGraph graph(clone_graph(*program.graph), *program.method, program.self);
  return graph.run(call, [](size_t, std::span<const Value>) {}).to_tensor();
}

TEST(Equalize, GivesTheVerySameNumbers) {
  Program program(load("tests/fixtures/traced_convnet.pt"), "forward");
  upset(program);
  const auto calls = pictures();
  const Tensor before = answer(program, calls[0]);
  const std::vector<Layer> layers = find_layers(*program.graph);
  const std::vector<Equalized> pairs =
      equalize(program, layers, std::vector<bool>(3, true), false, calls, [](double) {});
  ASSERT_FALSE(pairs.empty());
  EXPECT_EQ(pairs[0].first, 0u);
  EXPECT_EQ(pairs[0].second, 1u);
  EXPECT_GE(pairs[0].most, 16);
  program.graph->verify();
  const Tensor after = answer(program, calls[0]);
  EXPECT_EQ(std::memcmp(before.raw_data(), after.raw_data(),
                        static_cast<size_t>(before.numel()) * sizeof(float)),
            0);
}

TEST(Equalize, HelpsWeightsOfOneScale) {
  Program program(load("tests/fixtures/traced_convnet.pt"), "forward");
  upset(program);
  const Module model = with_method(program, clone_graph(*program.graph), {});
  const auto calls = pictures();
  const auto quality = [&](bool equalize) {
    QuantizationOptions options;
    options.per_channel = false;
    options.equalize = equalize;
    const Quantized result = torchlet::quantize(model, calls, options);
    EXPECT_EQ(result.layers[0].equalization > 1, equalize);
    return sqnr(model.forward(calls[0]).to_tensor(), result.module.forward(calls[0]).to_tensor());
  };
  EXPECT_GT(quality(true), quality(false) + 10);
}

TEST(Equalize, NotWhatStaysFloat) {
  Program program(load("tests/fixtures/traced_convnet.pt"), "forward");
  upset(program);
  const std::vector<Layer> layers = find_layers(*program.graph);
  EXPECT_TRUE(
      equalize(program, layers, {true, false, true}, false, pictures(), [](double) {}).empty());
}

}  // namespace
}  // namespace torchlet::quant
