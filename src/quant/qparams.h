// Scale and zero point of a range of real numbers.
//
// The formulas are those of PyTorch's observers (torch/ao/quantization/observer.py,
// UniformQuantizationObserverBase), in float as there, so that the same range gives the same
// numbers.
#pragma once

#include <cstdint>

namespace torchlet::quant {

struct Range {
  float low = 0, high = 0;
};

struct QParams {
  double scale = 1;
  int64_t zero_point = 0;
  bool operator==(const QParams&) const = default;
};

// quint8 for activations: 0 is exact, all of the range is representable. `reduced`: 0..127, for
// kernels whose 16-bit sums would saturate.
QParams affine_qparams(Range range, bool reduced);
// qint8 for weights: the scale for magnitudes up to `largest`, zero point 0.
double symmetric_scale(float largest);

}  // namespace torchlet::quant
