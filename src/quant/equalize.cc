#include "quant/equalize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "graph/clone.h"
#include "ops/core/common.h"
#include "passes/analysis/constants.h"
#include "prepare/agreement.h"
#include "quant/calibration.h"
#include "quant/channel_scales.h"
#include "quant/probe.h"
#include "tensor/containers.h"

namespace torchlet::quant {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// ---- which pairs there are ----

struct Pair {
  size_t first, second;
  bool flattened;               // the second is linear and reads an image
  std::vector<double> divisor;  // of each channel, so far
};

bool is_aten(const Node& node, std::initializer_list<std::string_view> names) {
  return node.op() && node.kind().name_space() == "aten" &&
         std::ranges::find(names, node.kind().name()) != names.end();
}

bool averages_images(const Node& node) {
  const Value* dims = is_aten(node, {"mean"}) ? passes::constant_argument(node, "dim") : nullptr;
  if (!dims || !dims->is_list()) return false;
  std::vector<int64_t> axes;
  for (const Value& dim : dims->to_list()) axes.push_back(dim.to_int());
  std::ranges::sort(axes);
  return axes == std::vector<int64_t>{2, 3} || axes == std::vector<int64_t>{-2, -1};
}

// Who alone reads the elements of the value, in the same block; null if there are several.
Node* only_reader(const SsaValue& value) {
  Node* reader = nullptr;
  for (Node* user : value.users()) {
    if (user->op() && user->op()->facts->looks_at == LooksAt::kSizes) continue;
    if (reader) return nullptr;
    reader = user;
  }
  return reader && reader->owner() == value.node()->owner() ? reader : nullptr;
}

class Pairs {
 public:
  explicit Pairs(const std::vector<Layer>& layers) : layers_(layers) {
    for (size_t i = 0; i < layers.size(); ++i) {
      if (has_weights(layers[i])) at_.emplace(layers[i].node, i);
    }
  }

  std::optional<Pair> from(size_t first) const {
    const Layer& layer = layers_[first];
    if (!has_weights(layer)) return std::nullopt;
    Pair pair{first, first, false, {}};
    const SsaValue* value = layer.output();
    while (true) {
      const Node* reader = only_reader(*value);
      if (!reader) return std::nullopt;
      if (const auto found = at_.find(reader); found != at_.end()) {
        pair.second = found->second;
        return joins(pair, *value) ? std::optional(pair) : std::nullopt;
      }
      if (!is_homogeneous(*reader, layer.op == "conv2d", pair) || reader->input(0) != value) {
        return std::nullopt;
      }
      value = reader->output();
    }
  }

  static bool has_weights(const Layer& layer) {
    return layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear;
  }

 private:
  bool joins(const Pair& pair, const SsaValue& value) const {
    const Layer &first = layers_[pair.first], &second = layers_[pair.second];
    if (second.inputs[0] != &value) return false;
    return pair.flattened ? second.kind == LayerKind::kLinear : second.op == first.op;
  }

  // Does dividing a channel that goes in divide the one that comes out?
  static bool is_homogeneous(const Node& node, bool is_image, Pair& pair) {
    if (is_aten(node, {"relu", "leaky_relu"})) return true;
    if (!is_image) return false;
    if (averages_images(node) || is_aten(node, {"flatten", "view", "reshape", "squeeze"})) {
      return pair.flattened = true;
    }
    return is_aten(node, {"max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "upsample_nearest2d",
                          "upsample_bilinear2d"});
  }

  const std::vector<Layer>& layers_;
  std::unordered_map<const Node*, size_t> at_;
};

// ---- what calibration says of the layers ----

struct Seen : ChannelStatistics {
  double count = 0;
  // Of the last call.
  int64_t input_dim = 0, output_dim = 0, input_batch = 0, output_batch = 0;
  bool usable = true;  // float32, with as many channels as the layer has
};

// Calls visit(channel, value) for a tensor of that many channels; false if it has another number.
// Counts the elements of a channel.
template <typename Visit>
bool visit_channels(const Layer& layer, const Tensor& tensor, size_t channels, double& count,
                    const Visit& visit) {
  const int64_t axis = tensor.dim() - (layer.op == "conv2d" ? 3 : layer.op == "conv1d" ? 2 : 1);
  if (tensor.dtype() != DType::kFloat32 || axis < 0 || tensor.numel() == 0 ||
      tensor.size(axis) != static_cast<int64_t>(channels)) {
    return false;
  }
  const Tensor dense = tensor.contiguous();
  size_t inner = 1;
  for (int64_t d = axis + 1; d < dense.dim(); ++d) inner *= static_cast<size_t>(dense.size(d));
  const std::span values(dense.data_ptr<float>(), static_cast<size_t>(dense.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    visit(i / inner % channels, static_cast<double>(values[i]));
  }
  count += static_cast<double>(values.size() / channels);
  return true;
}

void see(const Layer& layer, const WeightMatrix& weights, std::span<const Value> shown,
         Seen& seen) {
  const Tensor input = shown[0].to_tensor(), output = shown[1].to_tensor();
  seen.input_power.resize(weights.input_channels());
  seen.low.resize(weights.outputs);
  seen.high.resize(weights.outputs);
  double ignored = 0;
  seen.usable = seen.usable &&
                visit_channels(layer, input, weights.input_channels(), seen.count,
                               [&](size_t c, double x) { seen.input_power[c] += x * x; }) &&
                visit_channels(layer, output, weights.outputs, ignored, [&](size_t c, double x) {
                  seen.low[c] = std::min(seen.low[c], x);
                  seen.high[c] = std::max(seen.high[c], x);
                });
  if (!seen.usable) return;
  seen.input_dim = input.dim();
  seen.output_dim = output.dim();
  seen.input_batch = input.size(0);
  seen.output_batch = output.size(0);
}

using WeightsOf = std::unordered_map<size_t, WeightMatrix>;

std::vector<Seen> watch(const Program& program, const std::vector<Layer>& layers,
                        const WeightsOf& weights, std::span<const std::vector<Value>> calls,
                        const std::function<void(double)>& progress) {
  std::vector<Seen> seen(layers.size());
  ProbedGraph probed(clone_graph(*program.graph), *program.method, program.self);
  const std::vector<Layer> copies = find_layers(probed.graph());
  for (const auto& [i, matrix] : weights) {
    probed.add_probe(i, copies[i].last(), {copies[i].inputs[0], copies[i].output()});
  }
  for (size_t call = 0; call < calls.size(); ++call) {
    progress(static_cast<double>(call) / static_cast<double>(calls.size()));
    run_call(
        [&] {
          return probed.run(calls[call], [&](size_t i, std::span<const Value> shown) {
            see(layers[i], weights.at(i), shown, seen[i]);
          });
        },
        call);
  }
  for (Seen& layer : seen) {
    for (double& power : layer.input_power) power /= std::max(layer.count, 1.0);
    layer.usable = layer.usable && layer.count > 0;
  }
  return seen;
}

// ---- the work ----

class Equalizer {
 public:
  Equalizer(const std::vector<Layer>& layers, WeightsOf& weights, std::vector<Seen> seen,
            std::vector<Pair> pairs, bool per_channel)
      : layers_(layers),
        weights_(weights),
        seen_(std::move(seen)),
        pairs_(std::move(pairs)),
        per_channel_(per_channel) {
    std::erase_if(pairs_, [&](const Pair& pair) { return !fits(pair); });
    for (Pair& pair : pairs_) pair.divisor.assign(weights_.at(pair.first).outputs, 1);
  }

  // Pairs share layers, so each changes what is best for its neighbours.
  const std::vector<Pair>& run() {
    constexpr int kRounds = 8;
    bool changed = true;
    for (int round = 0; round < kRounds && changed; ++round) {
      changed = false;
      for (Pair& pair : pairs_) changed = improve(pair) || changed;
    }
    return pairs_;
  }

 private:
  bool fits(const Pair& pair) const {
    const Seen &first = seen_[pair.first], &second = seen_[pair.second];
    const size_t channels = weights_.at(pair.first).outputs;
    const size_t features = weights_.at(pair.second).input_channels();
    if (!first.usable || !second.usable) return false;
    if (!pair.flattened) return features == channels;
    return first.output_dim == 4 && second.input_dim == 2 &&
           first.output_batch == second.input_batch && features % channels == 0;
  }

  // An error of a channel that a pair begins with is worth what its second layer makes of it.
  std::vector<double> importance_of_outputs(size_t layer) const {
    std::vector<double> importance(weights_.at(layer).outputs, 1);
    const auto next = std::ranges::find(pairs_, layer, &Pair::first);
    if (next == pairs_.end()) return importance;
    const WeightMatrix& reader = weights_.at(next->second);
    const size_t features = reader.input_channels() / importance.size();
    std::ranges::fill(importance, 0);
    reader.for_each_kernel([&](size_t, size_t i, std::span<const float> kernel) {
      for (const float weight : kernel) {
        importance[i / features] += static_cast<double>(weight) * static_cast<double>(weight);
      }
    });
    return importance;
  }

  bool improve(Pair& pair) {
    const WeightMatrix &first = weights_.at(pair.first), &second = weights_.at(pair.second);
    Seen &before = seen_[pair.first], &behind = seen_[pair.second];
    LayerPair channels{first,
                       second,
                       before,
                       behind,
                       -kUnbounded,
                       +kUnbounded,
                       importance_of_outputs(pair.second)};
    if (layers_[pair.first].activation) {
      const Clamp clamp = *clamp_of(*layers_[pair.first].activation);
      // Zero stays zero.
      if (clamp.low != 0) channels.low = clamp.low;
      if (clamp.high != 0) channels.high = clamp.high;
    }
    const std::vector<double> scales = best_scales(channels, per_channel_);
    if (scales.empty()) return false;
    const size_t features = second.input_channels() / scales.size();
    const auto multiply = [](std::span<float> numbers, double factor) {
      for (float& x : numbers) x = static_cast<float>(static_cast<double>(x) * factor);
    };
    for (size_t c = 0; c < scales.size(); ++c) {
      const size_t each = first.inputs * first.kernel;
      multiply({first.data() + c * each, each}, 1 / scales[c]);
      if (first.layer.bias.defined()) {
        multiply({first.layer.bias.data_ptr<float>() + c, 1}, 1 / scales[c]);
      }
      before.low[c] /= scales[c];
      before.high[c] /= scales[c];
      pair.divisor[c] *= scales[c];
    }
    for (size_t i = 0; i < behind.input_power.size(); ++i) {
      behind.input_power[i] /= scales[i / features] * scales[i / features];
    }
    second.for_each_kernel(
        [&](size_t, size_t i, std::span<float> kernel) { multiply(kernel, scales[i / features]); });
    return true;
  }

  const std::vector<Layer>& layers_;
  WeightsOf& weights_;
  std::vector<Seen> seen_;
  std::vector<Pair> pairs_;
  const bool per_channel_;
};

void set_argument(Node& node, const char* name, const Tensor& tensor) {
  const size_t at = *node.op()->schema.find_argument(name);
  node.replace_input(at, passes::insert_constant(&node, Value(tensor), types::tensor()));
}

void set_weights(const Layer& layer, const WeightedLayer& weights) {
  const bool is_sum = layer.node->kind().name() == "addmm";
  set_argument(*layer.node, is_sum ? "mat2" : "weight",
               is_sum ? ops::transpose(weights.weight, 0, 1).contiguous() : weights.weight);
  if (weights.bias.defined()) set_argument(*layer.node, is_sum ? "self" : "bias", weights.bias);
}

void check_answers(const Program& program, std::unique_ptr<Graph> before,
                   std::span<const std::vector<Value>> calls) {
  constexpr size_t kCalls = 16;
  constexpr double kTolerance = 1e-6;  // dividing by powers of two rounds nothing
  const auto nobody = [](size_t, std::span<const Value>) {};
  ProbedGraph exact(std::move(before), *program.method, program.self);
  ProbedGraph other(clone_graph(*program.graph), *program.method, program.self);
  prepare::Agreement agreement;
  for (const auto& call : calls.first(std::min(calls.size(), kCalls))) {
    agreement.add(exact.run(call, nobody), other.run(call, nobody));
  }
  if (!agreement.mismatch().empty()) {
    fail(ErrorCode::kRuntime, "the equalised model gives other answers: " + agreement.mismatch() +
                                  "; quantize it without equalising");
  }
  if (agreement.error() <= kTolerance) return;
  fail(ErrorCode::kRuntime,
       "the equalised model's answers differ by %.2e of the largest number (at most %.0e is "
       "rounding); quantize it without equalising",
       agreement.error(), kTolerance);
}

}  // namespace

std::vector<Equalized> equalize(Program& program, const std::vector<Layer>& layers,
                                const std::vector<bool>& wanted, bool per_channel,
                                std::span<const std::vector<Value>> calls,
                                const std::function<void(double)>& progress) {
  const Pairs finder(layers);
  std::vector<Pair> pairs;
  WeightsOf weights;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto pair = finder.from(i);
    if (!pair || !wanted[i] || !wanted[pair->second]) continue;
    pairs.push_back(*pair);
    for (const size_t layer : {pair->first, pair->second}) {
      weights.try_emplace(layer, weights_of(layers[layer]));
    }
  }
  std::vector<Seen> seen = watch(program, layers, weights, calls, progress);
  Equalizer equalizer(layers, weights, std::move(seen), std::move(pairs), per_channel);
  std::vector<Equalized> result;
  for (const Pair& pair : equalizer.run()) {
    double most = 1;
    for (const double divisor : pair.divisor) most = std::max({most, divisor, 1 / divisor});
    if (most > 1) result.push_back({pair.first, pair.second, most});
  }
  if (result.empty()) return result;
  std::unique_ptr<Graph> before = clone_graph(*program.graph);
  for (const auto& [layer, matrix] : weights) set_weights(layers[layer], matrix.layer);
  check_answers(program, std::move(before), calls);
  return result;
}

}  // namespace torchlet::quant
