#pragma once

// For tests of kernels in Float16.

#include <vector>

#include "kernels/half/float16.h"

namespace torchlet::kernels {

inline std::vector<Float16> rounded(const std::vector<float>& values) {
  std::vector<Float16> result(values.size());
  to_float16(values.data(), result.data(), static_cast<int64_t>(values.size()));
  return result;
}

inline std::vector<float> widened(const std::vector<Float16>& values) {
  std::vector<float> result(values.size());
  to_float32(values.data(), result.data(), static_cast<int64_t>(values.size()));
  return result;
}

}  // namespace torchlet::kernels
