#include "quant/slow_layers.h"

#include <algorithm>
#include <tuple>

#include "quant/choices.h"

namespace torchlet::quant {
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
    const std::string& path = layers[i].path;
    if (!reports[i].gains_no_time() || path.empty()) continue;
    options.skip = {path};
    bool names_others = false;
    for (size_t k = 0; k < layers.size(); ++k) {
      const bool gains = reports[k].quantized && !reports[k].gains_no_time();
      names_others = names_others || (gains && is_skipped(k));
    }
    const bool is_new = std::ranges::find(slow.paths, path) == slow.paths.end();
    if (!names_others && is_new) slow.paths.push_back(path);
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
