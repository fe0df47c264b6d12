#include "kernels/quantized/layer_q8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace torchlet::kernels {

RequantizationQ8 requantization_q8(const LayerQ8& layer, int64_t channel) {
  const float scale = layer.weight_scales[channel] * layer.input_scale;
  // Multiplying by the inverse rounds otherwise than dividing.
  const float multiplier = scale * (1.0f / layer.output_scale);
  if (!layer.bias) return {0, multiplier};
  const double bias = std::nearbyint(layer.bias[channel] * (1.0f / scale));
  constexpr double kLow = std::numeric_limits<int32_t>::min();
  constexpr double kHigh = std::numeric_limits<int32_t>::max();
  return {std::isnan(bias) ? 0 : static_cast<int32_t>(std::clamp(bias, kLow, kHigh)), multiplier};
}

}  // namespace torchlet::kernels
