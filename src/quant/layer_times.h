// How long each layer of a program takes, as it is and quantized.
#pragma once

#include <torchlet/quantize.h>

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "quant/layers.h"
#include "quant/program.h"
#include "quant/rewrite.h"

namespace torchlet::quant {

// A program as it is and rewritten, and what computes each of its layers in either.
struct BothForms {
  std::unique_ptr<Graph> real, quantized;
  std::vector<const Node*> real_nodes, quantized_nodes;
  // All nodes before they were changed, those of `quantized` in the order of those of `real`.
  std::vector<const Node*> real_before, before;
};
// All nodes, with those of inner blocks behind their owners.
std::vector<const Node*> nodes_of(const Graph& graph);
BothForms both_forms(const Program& program, const std::vector<LayerChoice>& choices);

// Layers may be computed in one step, in either form; the time is that of all of them.
struct LayerTime {
  size_t group;  // the first layer of those; the layer itself if it is alone
  // Of the group. `quantized` counts what quantizes its inputs, if nobody before it needs them
  // quantized, and makes its results real numbers.
  RunTime real, quantized;
};

// Runs both in turns with one call's arguments, for half a second or a few times.
std::vector<LayerTime> measure_layers(const Program& program, BothForms forms,
                                      std::span<const Value> call,
                                      const std::function<void(double)>& progress);

// The same for two graphs of the program as wholes.
std::pair<RunTime, RunTime> measure_wholes(const Program& program, std::unique_ptr<Graph> one,
                                           std::unique_ptr<Graph> other,
                                           std::span<const Value> call);

}  // namespace torchlet::quant
