#include "quant/slow_layers.h"

#include <algorithm>

#include "quant/choices.h"

namespace torchlet::quant {
namespace {

bool is_weighted(const Layer& layer) {
  return layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear;
}

bool is_slow(const LayerReport& report) {
  const RunTime &real = report.float_time, &quantized = report.quantized_time;
  return report.quantized && real.least_ms > 0 && quantized.least_ms >= real.least_ms &&
         quantized.median_ms >= real.median_ms;
}

}  // namespace

std::optional<SlowLayers> find_slow_layers(const Program& program, const std::vector<Layer>& layers,
                                           const std::vector<LayerChoice>& all,
                                           const std::vector<bool>& wanted,
                                           const std::vector<LayerReport>& reports,
                                           std::span<const Value> call) {
  QuantizationOptions options;
  const auto is_skipped = [&](size_t i) {
    return !objection_by_name(layers[i].path, layers[i].op, options).empty();
  };
  SlowLayers slow;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!is_weighted(layers[i]) || !is_slow(reports[i]) || layers[i].path.empty()) continue;
    options.skip = {layers[i].path};
    bool names_others = false;
    for (size_t k = 0; k < layers.size(); ++k) {
      names_others = names_others || (is_skipped(k) && is_weighted(layers[k]) &&
                                      reports[k].quantized && !is_slow(reports[k]));
    }
    const bool is_new = std::ranges::find(slow.paths, layers[i].path) == slow.paths.end();
    if (!names_others && is_new) slow.paths.push_back(layers[i].path);
  }
  if (slow.paths.empty()) return std::nullopt;
  options.skip = slow.paths;
  std::vector<bool> rest = wanted;
  for (size_t i = 0; i < layers.size(); ++i) rest[i] = rest[i] && !is_skipped(i);
  std::tie(slow.quantized, slow.skipped) =
      measure_wholes(program, restricted(*program.graph, layers, all, wanted),
                     restricted(*program.graph, layers, all, rest), call);
  return slow;
}

}  // namespace torchlet::quant
