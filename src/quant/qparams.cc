#include "quant/qparams.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace torchlet::quant {
namespace {

constexpr float kLeastScale = std::numeric_limits<float>::epsilon();

}  // namespace

QParams affine_qparams(Range range, bool reduced) {
  const float low = std::min(range.low, 0.0f), high = std::max(range.high, 0.0f);
  const int steps = reduced ? 127 : 255;
  const float scale = std::max((high - low) / static_cast<float>(steps), kLeastScale);
  const auto zero_point = -static_cast<int64_t>(std::nearbyint(low / scale));
  return {scale, std::clamp<int64_t>(zero_point, 0, steps)};
}

double symmetric_scale(float largest) { return std::max(largest / 127.5f, kLeastScale); }

}  // namespace torchlet::quant
