// Quantized layers whose weights have a scale per channel, in words that every NNAPI file can say.
#pragma once

#include <vector>

#include "nnapi/model.h"

namespace torchlet::prepare {

struct WithoutChannelScales {
  nnapi::Model model;
  size_t changed;  // layers
};

// PyTorch's loader never calls ANeuralNetworksModel_setOperandSymmPerChannelQuantParams, so a file
// cannot hold such weights. A convolution with them becomes the same in float32 between DEQUANTIZE
// and QUANTIZE: it gives the same numbers but for the rounding of halves, takes four times the
// memory for its weights, and is as slow as float. Who wants int8 on the accelerator quantizes
// weights per tensor, as PyTorch's configuration for QNNPACK does.
WithoutChannelScales without_channel_scales(nnapi::Model model);

}  // namespace torchlet::prepare
