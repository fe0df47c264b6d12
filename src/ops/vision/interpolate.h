// Resizing of the last one to three dimensions of [N, C, ...].
#pragma once

#include <vector>

#include "ops/core/common.h"

namespace torchlet::ops {

enum class ResizeMode {
  kNearest,
  kNearestExact,
  kLinear,
  kCubic,
  kLinearAntialias,
  kCubicAntialias
};

// One output size per resized dimension. `scales`: the factor that the user gave, used for the
// coordinates instead of the ratio of the sizes; empty, or one per dimension (none: the ratio).
Tensor interpolate(const Tensor& input, IntSpan output_size, ResizeMode mode, bool align_corners,
                   const std::vector<std::optional<double>>& scales);

// The output size from exactly one of a size and factors, for `spatial` dimensions.
IntArray interpolated_size(const Tensor& input, size_t spatial,
                           const std::optional<IntArray>& output_size,
                           const std::optional<std::vector<double>>& scale_factors);

}  // namespace torchlet::ops
