// What the channels between two layers are divided by so that quantizing costs least.
#pragma once

#include <span>
#include <vector>

#include "quant/layers.h"

namespace torchlet::quant {

// A copy of a layer's weights as [outputs, inputs of a group, kernel].
struct WeightMatrix {
  explicit WeightMatrix(WeightedLayer from);
  float* data() const { return layer.weight.data_ptr<float>(); }
  size_t input_channels() const { return inputs * groups; }
  size_t first_input(size_t output) const { return output / (outputs / groups) * inputs; }
  // Calls visit(output, input channel, its weights).
  template <typename Visit>
  void for_each_kernel(const Visit& visit) const {
    for (size_t o = 0; o < outputs; ++o) {
      for (size_t i = 0; i < inputs; ++i) {
        visit(o, first_input(o) + i, std::span(data() + (o * inputs + i) * kernel, kernel));
      }
    }
  }

  WeightedLayer layer;
  size_t outputs, inputs, kernel, groups;
};

// Of a layer, by channel, over the calibration inputs.
struct ChannelStatistics {
  std::vector<double> input_power;  // mean square
  std::vector<double> low, high;    // of the output; zero is always between them
};

// Two layers of which the second reads the first. A channel of the first is one of the second, or
// several in a row if that is a linear layer behind an image.
struct LayerPair {
  const WeightMatrix &first, &second;
  const ChannelStatistics &before, &behind;  // of the first and of the second
  // Where the activation of the first layer cuts; infinite if dividing does not change that.
  double low, high;
  // Of the second layer's outputs: what an error of one is worth.
  std::vector<double> importance;
};

// The divisor of each channel, a power of two; empty if the channels are best as they are.
std::vector<double> best_scales(const LayerPair& pair, bool per_channel);

}  // namespace torchlet::quant
