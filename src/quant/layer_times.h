// How long each layer of a program takes, as it is and quantized.
#pragma once

#include <torchlet/quantize.h>

#include <functional>
#include <span>
#include <vector>

#include "quant/layers.h"
#include "quant/program.h"
#include "quant/rewrite.h"

namespace torchlet::quant {

// Layers may be computed in one step, in either form; the time is that of all of them.
struct LayerTime {
  size_t group;  // the first layer of those; the layer itself if it is alone
  // Of the group. `quantized` counts what quantizes its inputs, if nobody before it needs them
  // quantized, and makes its results real numbers.
  RunTime real, quantized;
};

// Runs the program and its rewritten form in turns with one call's arguments, for half a second or
// a few times.
std::vector<LayerTime> measure_layers(const Program& program,
                                      const std::vector<LayerChoice>& choices,
                                      std::span<const Value> call,
                                      const std::function<void(double)>& progress);

// The same for two ways to rewrite it, as wholes.
std::pair<RunTime, RunTime> measure_wholes(const Program& program,
                                           const std::vector<LayerChoice>& one,
                                           const std::vector<LayerChoice>& other,
                                           std::span<const Value> call);

}  // namespace torchlet::quant
