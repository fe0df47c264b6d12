// Smaller weights in programs that stay as they are otherwise: no calibration is needed.
#pragma once

#include <torchlet/quantize.h>

#include <vector>

#include "graph/graph.h"

namespace torchlet::quant {

// Linear layers, LSTMs and GRUs with constant weights get weights of 8-bit integers, and quantize
// what comes in by its own range in each call (PyTorch's quantize_dynamic). `options` says which.
// `nodes` becomes what computes each reported layer now.
std::vector<LayerReport> quantize_dynamically(Graph& graph, const QuantizationOptions& options,
                                              std::vector<const Node*>* nodes = nullptr);
// What computes these layers before they are quantized, in the same order.
std::vector<const Node*> dynamic_layers(Graph& graph);

// Constant float32 tensors of some size become float16, and are converted where they are used: so
// any PyTorch runs the result, whatever engine it has.
std::vector<LayerReport> halve_weights(Graph& graph, const QuantizationOptions& options);

}  // namespace torchlet::quant
