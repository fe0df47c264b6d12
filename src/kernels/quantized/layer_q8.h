// The arithmetic of quantized layers with weights, as QNNPACK and so PyTorch on phones have it:
//
//   sum    = round(bias / (input scale * weight scale)) + sum of (x - zero) * (w - zero)  in int32
//   result = clamp(round(float(sum) * multiplier) + output zero point)
//
// with halves rounded to even and multiplier = input scale * weight scale * (1 / output scale).
#pragma once

#include <cstdint>

namespace torchlet::kernels {

// A convolution or linear layer. The arrays with one element per output channel serve weights that
// are quantized per tensor, too.
struct LayerQ8 {
  const int8_t* weight;                         // [out_channels, in_channels / groups, kernel...]
  const float* weight_scales;                   // [out_channels]
  const int32_t* weight_zero_points = nullptr;  // [out_channels], of an int8 each; null: all 0
  const float* bias = nullptr;                  // [out_channels] real numbers, or null
  float input_scale;
  uint8_t input_zero_point;
  float output_scale;
};

// Of the result: quint8, clamped to [low, high].
struct OutputQ8 {
  uint8_t zero_point;
  uint8_t low = 0, high = 255;
};

struct RequantizationQ8 {
  int32_t bias;  // saturated
  float multiplier;
};
RequantizationQ8 requantization_q8(const LayerQ8& layer, int64_t channel);

inline int32_t weight_zero_point(const LayerQ8& layer, int64_t channel) {
  return layer.weight_zero_points ? layer.weight_zero_points[channel] : 0;
}

}  // namespace torchlet::kernels
