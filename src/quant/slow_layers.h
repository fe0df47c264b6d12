// Layers whose quantized form takes no less time.
#pragma once

#include <torchlet/quantize.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quant/layer_times.h"

namespace torchlet::quant {

// Of the layers, whose `reports` have times, those that are as slow or slower quantized and that a
// name of QuantizationOptions::skip tells from those that are not. Measures what leaving them float
// makes of the whole: they may be faster there, and the conversions that this takes cost more.
// Nothing if there are no such layers.
//
// `rewritten` gives the program's graph with all quantized that is, but for these names.
using RewrittenWithout =
    std::function<std::unique_ptr<Graph>(const std::vector<std::string>& skip)>;
std::optional<SlowLayers> find_slow_layers(const Program& program,
                                           const std::vector<LayerReport>& reports,
                                           const RewrittenWithout& rewritten,
                                           std::span<const Value> call);

}  // namespace torchlet::quant
