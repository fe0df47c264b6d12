// A program of real numbers becomes one of quantized operators.
#pragma once

#include <string>
#include <vector>

#include "quant/layers.h"
#include "quant/qparams.h"

namespace torchlet::quant {

// How one layer is quantized.
struct LayerChoice {
  bool quantize = false;
  QParams output;
  std::vector<QParams> inputs;  // of those that nothing quantized gives
  Value packed;                 // of kConv and kLinear: its weights
};

// Replaces the chosen layers of the graph by PyTorch's quantized operators, and what only moves,
// pools or cuts their values by the same operator on quantized tensors. Real numbers are quantized
// behind their definition, once, and quantized ones become real in front of those who need them
// so. Stubs (quant/stubs.h) are gone then. Returns for each layer the quantized tensor that it
// gives now, or null.
std::vector<SsaValue*> rewrite(Graph& graph, const std::vector<Layer>& layers,
                               const std::vector<LayerChoice>& choices);

// Which layers of those that are wanted pay: a sum, a product, a concatenation or an activation
// only if something quantized goes in and comes out, since it is not faster than the conversions.
// What a DeQuantStub takes and a QuantStub gives is quantized because the model says so.
std::vector<bool> worth_quantizing(Graph& graph, const std::vector<Layer>& layers,
                                   std::vector<bool> wanted);

}  // namespace torchlet::quant
