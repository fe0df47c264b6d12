#include "quant/choices.h"

#include <algorithm>
#include <unordered_map>

#include "quant/weights.h"

namespace torchlet::quant {
namespace {

// "features.3" is the module itself or one above it, "conv2d" the operator.
bool names(const std::string& name, const std::string& path, const std::string& op) {
  return name == op || name == path || (path.starts_with(name) && path[name.size()] == '.');
}

std::string objection(const Layer& layer, const LayerValues& values,
                      const Calibration& calibration) {
  if (!values.ran) return "calibration never reached it";
  if (!values.is_float32) return "not float32";
  if (!calibration.observer(layer.output()).finite()) return "its values are not finite";
  if (!calibration.observer(layer.output()).seen()) return "its values are empty";
  for (const SsaValue* input : layer.inputs) {
    if (!calibration.observer(input).finite()) return "its input is not finite";
  }
  // Where PyTorch's quantized operators do not broadcast as the float ones do.
  if (layer.kind == LayerKind::kAdd && !values.same_sizes) return "its operands are broadcast";
  if (layer.kind == LayerKind::kMul && !values.same_sizes && !values.is_image) {
    return "its operands are broadcast";
  }
  return "";
}

class Parameters {
 public:
  Parameters(const Calibration& calibration, const QuantizationOptions& options)
      : calibration_(calibration), options_(options) {}

  QParams of(const SsaValue* value) const {
    Range range = calibration_.observer(value).choose(options_.range);
    const Useful useful = useful_part(*value);
    range = {std::max(range.low, useful.low), std::min(range.high, useful.high)};
    return affine_qparams(range, options_.reduce_range);
  }

 private:
  const Calibration& calibration_;
  const QuantizationOptions& options_;
};

// What only goes into a concatenation takes its steps, so that nothing is converted there.
void share_with_concatenations(const std::vector<Layer>& layers,
                               std::vector<LayerChoice>& choices) {
  std::unordered_map<const SsaValue*, size_t> maker;
  for (size_t i = 0; i < layers.size(); ++i) maker.emplace(layers[i].output(), i);
  for (size_t i = layers.size(); i-- > 0;) {
    if (layers[i].kind != LayerKind::kCat || !choices[i].quantize) continue;
    for (const SsaValue* input : layers[i].inputs) {
      const auto made = maker.find(input);
      if (made == maker.end() || input->users().size() != 1) continue;
      if (layers[made->second].kind != LayerKind::kUnit) {
        choices[made->second].output = choices[i].output;
      }
    }
  }
}

// QNNPACK's sum wants steps of its operands that are not too unlike those of the result.
bool fits_sum(double operand_scale, double scale) {
  return operand_scale / scale > 0x1p-14 * 1.01 && operand_scale / scale < 0x1p8 * 0.99;
}

constexpr QParams kUnitParams = {1.0 / 256, 0};

}  // namespace

std::string objection_by_name(const std::string& path, const std::string& op,
                              const QuantizationOptions& options) {
  const auto named = [&](const std::string& name) { return names(name, path, op); };
  if (std::ranges::any_of(options.skip, named)) return "skipped";
  if (options.only.empty() || std::ranges::any_of(options.only, named)) return "";
  return "not among those that were asked for";
}

std::vector<std::string> objections(const std::vector<Layer>& layers,
                                    const Calibration* calibration,
                                    const QuantizationOptions& options) {
  std::vector<std::string> reasons;
  for (size_t i = 0; i < layers.size(); ++i) {
    std::string reason = objection_by_name(layers[i].path, layers[i].op, options);
    if (reason.empty() && layers[i].outside) reason = "not between QuantStub and DeQuantStub";
    if (reason.empty() && calibration) {
      reason = objection(layers[i], calibration->values(i), *calibration);
    }
    reasons.push_back(std::move(reason));
  }
  return reasons;
}

std::vector<LayerChoice> choose(const std::vector<Layer>& layers, const Calibration& calibration,
                                const QuantizationOptions& options,
                                std::vector<std::string>& objections) {
  const Parameters parameters(calibration, options);
  std::vector<LayerChoice> choices(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    if (!objections[i].empty()) continue;
    choices[i].quantize = true;
    choices[i].output =
        layer.kind == LayerKind::kUnit ? kUnitParams : parameters.of(layer.output());
    for (const SsaValue* input : layer.inputs) choices[i].inputs.push_back(parameters.of(input));
    const auto fits = [&](const QParams& input) {
      return fits_sum(input.scale, choices[i].output.scale);
    };
    if (layer.kind == LayerKind::kAdd && !std::ranges::all_of(choices[i].inputs, fits)) {
      objections[i] = "an operand is too small or large for QNNPACK's sum";
      choices[i] = {};
    }
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const bool has_weights =
        layers[i].kind == LayerKind::kConv || layers[i].kind == LayerKind::kLinear;
    if (!choices[i].quantize || !has_weights) continue;
    WeightOptions weights{options.per_channel, choices[i].inputs[0].scale, {}};
    if (options.bias_correction) weights.input_means = calibration.values(i).input_means;
    choices[i].packed = pack(weights_of(layers[i]), layers[i].kind, weights);
  }
  return choices;
}

std::vector<LayerChoice> restricted(Graph& graph, const std::vector<Layer>& layers,
                                    std::vector<LayerChoice> choices,
                                    const std::vector<bool>& wanted) {
  const std::vector<bool> worth = worth_quantizing(graph, layers, wanted);
  for (size_t i = 0; i < layers.size(); ++i) {
    choices[i].quantize = choices[i].quantize && worth[i];
  }
  share_with_concatenations(layers, choices);
  return choices;
}

}  // namespace torchlet::quant
