// Weights as 8-bit integers.
#pragma once

#include <torchlet/tensor.h>
#include <torchlet/value.h>

#include <span>

#include "quant/layers.h"

namespace torchlet::quant {

struct WeightOptions {
  bool per_channel = true;
  // Of the layer's input. The bias is an integer in steps of input scale times weight scale, so
  // nearly empty channels get a weight scale that lets it fit.
  double input_scale = 1;
  // Of each input channel, over the calibration inputs: the mean error that rounding the weights
  // gives the output goes into the bias (Nagel et al., "Data-Free Quantization Through Weight
  // Equalization and Bias Correction", 2019, section 4.2). Empty: it does not.
  std::span<const double> input_means = {};
};

// qint8, symmetric, in the steps that give the least squared error.
Tensor quantize_weight(const Tensor& weight, const Tensor& bias, const WeightOptions& options);

// The object that PyTorch's quantized operators take.
Value pack(const WeightedLayer& layer, LayerKind kind, const WeightOptions& options);

}  // namespace torchlet::quant
