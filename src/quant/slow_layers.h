// Layers whose quantized form takes no less time.
#pragma once

#include <torchlet/quantize.h>

#include <optional>
#include <vector>

#include "quant/layer_times.h"

namespace torchlet::quant {

// Of the layers, whose `reports` have times, those that are as slow or slower quantized and that a
// name of QuantizationOptions::skip tells from those that are not. Measures what leaving them float
// makes of the whole: they may be faster there, and the conversions that this takes cost more.
// `all` is how each layer can be quantized, `wanted` those that are. Nothing if there are no such
// layers.
std::optional<SlowLayers> find_slow_layers(const Program& program, const std::vector<Layer>& layers,
                                           const std::vector<LayerChoice>& all,
                                           const std::vector<bool>& wanted,
                                           const std::vector<LayerReport>& reports,
                                           std::span<const Value> call);

}  // namespace torchlet::quant
