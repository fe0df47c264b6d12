// Quantized layers whose weights have a scale per channel, in words that every NNAPI file can say.
#pragma once

#include <vector>

#include "nnapi/model.h"

namespace torchlet::prepare {

// A constant of float32, and the quantized tensor that dequantize() makes it of.
struct DequantizedConstant {
  nnapi::OperandId id;
  Tensor quantized;
};

struct WithoutChannelScales {
  nnapi::Model model;
  std::vector<DequantizedConstant> filters;  // of the layers that were changed
};

// PyTorch's loader never calls ANeuralNetworksModel_setOperandSymmPerChannelQuantParams, so a file
// cannot hold such weights. A convolution with them becomes the same in float32 between DEQUANTIZE
// and QUANTIZE: it gives the same numbers but for the rounding of halves, takes four times the
// memory for its weights when it runs, and is as slow as float. Who wants int8 on the accelerator
// quantizes weights per tensor, as PyTorch's configuration for QNNPACK does.
WithoutChannelScales without_channel_scales(nnapi::Model model);

}  // namespace torchlet::prepare
