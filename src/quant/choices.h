// Which layers are quantized, and in which steps.
#pragma once

#include <torchlet/quantize.h>

#include <string>
#include <vector>

#include "quant/calibration.h"
#include "quant/layers.h"
#include "quant/rewrite.h"

namespace torchlet::quant {

// Why a module or operator of these names stays float; empty if the options do not say so.
std::string objection_by_name(const std::string& path, const std::string& op,
                              const QuantizationOptions& options);
// Why each layer stays float; empty if nothing speaks against quantizing it. `calibration` may be
// null: then only what the options say counts.
std::vector<std::string> objections(const std::vector<Layer>& layers,
                                    const Calibration* calibration,
                                    const QuantizationOptions& options);

// How each layer without an objection is quantized by what calibration saw. Layers that could not
// be quantized so get an objection.
std::vector<LayerChoice> choose(const std::vector<Layer>& layers, const Calibration& calibration,
                                const QuantizationOptions& options,
                                std::vector<std::string>& objections);

// The choices with those layers alone that are wanted and pay.
std::vector<LayerChoice> restricted(Graph& graph, const std::vector<Layer>& layers,
                                    std::vector<LayerChoice> choices,
                                    const std::vector<bool>& wanted);

}  // namespace torchlet::quant
