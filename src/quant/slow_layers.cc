#include "quant/slow_layers.h"

#include <algorithm>
#include <tuple>

#include "quant/choices.h"

namespace torchlet::quant {

std::optional<SlowLayers> find_slow_layers(const Program& program,
                                           const std::vector<LayerReport>& reports,
                                           const RewrittenWithout& rewritten,
                                           std::span<const Value> call) {
  SlowLayers slow;
  for (const LayerReport& report : reports) {
    if (!report.gains_no_time() || report.path.empty()) continue;
    QuantizationOptions options;
    options.skip = {report.path};
    const auto is_named_and_gains = [&](const LayerReport& other) {
      return other.quantized && !other.gains_no_time() &&
             !objection_by_name(other.path, other.op, options).empty();
    };
    const bool is_new = std::ranges::find(slow.paths, report.path) == slow.paths.end();
    if (is_new && std::ranges::none_of(reports, is_named_and_gains)) {
      slow.paths.push_back(report.path);
    }
  }
  if (slow.paths.empty()) return std::nullopt;
  QuantizationOptions options;
  options.skip = slow.paths;
  slow.are_all = std::ranges::none_of(reports, [&](const LayerReport& report) {
    return report.quantized && objection_by_name(report.path, report.op, options).empty();
  });
  std::tie(slow.quantized, slow.skipped) =
      measure_wholes(program, rewritten({}), rewritten(slow.paths), call);
  return slow;
}

}  // namespace torchlet::quant
