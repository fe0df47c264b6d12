// Cross-layer equalisation: the channels between two layers are scaled so that each of them uses
// what steps there are (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
// Correction", 2019, section 4.1).
//
// If channel c of the first layer is divided by s[c] (its weights and bias) and the weights that
// read it in the second are multiplied by it, the float program computes the same as long as what
// is between them does not mind: f(x / s) = f(x) / s, as of ReLU, LeakyReLU, pooling and views.
// ReLU6 and other clamps mind where they cut: channels that reach the bound in calibration are left
// as they are, and the others do not get to it.
//
// The paper makes the ranges of both weights equal: s = sqrt(range1 / range2). Here s is the best
// of several such products of powers of the two ranges and that of the channel's values, by the
// noise that the three roundings are expected to leave behind the second layer: so pairs that would
// lose stay as they are, and it counts whether weights have a scale for each channel. It is a power
// of two, so that the float program gives the very same numbers.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "quant/layers.h"
#include "quant/program.h"

namespace torchlet::quant {

struct Equalized {
  size_t first, second;  // of the layers
  double most;           // the largest of s and 1 / s
};

// Changes the constants of the program's graph, whose layers are `layers`, where both layers of a
// pair are `wanted`. Runs the calls. Error kRuntime if the answers become others.
std::vector<Equalized> equalize(Program& program, const std::vector<Layer>& layers,
                                const std::vector<bool>& wanted, bool per_channel,
                                std::span<const std::vector<Value>> calls,
                                const std::function<void(double)>& progress);

}  // namespace torchlet::quant
