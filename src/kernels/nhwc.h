// How activations lie while a plan runs, and what a kernel does to each result before it stores it.
//
// An image is [batch, height, width, channels]: the channels of a pixel follow each other, and
// pixels are `pixel_stride` >= channels elements apart, rows and pictures without further gaps. So
// an image can be a range of the channels of a wider one: concatenation and splitting along the
// channels need no copies. A matrix [rows, columns] is an image whose pixels are the rows.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/half/float16.h"

namespace torchlet::kernels {

enum class ActivationKind : uint8_t {
  kNone,
  kClamp,      // [low, high]: relu, relu6, hardtanh, clamp; NaN stays NaN
  kLeakyRelu,  // x < 0 ? low * x : x
  kHardswish,
  kHardsigmoid,
  kSigmoid,
  kSilu,
  kTanh,
  kGelu,      // with erf
  kGeluTanh,  // the approximation with tanh
};

struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  float low = 0, high = 0;
};

// What a kernel can apply in registers at once: kNone and kClamp as bounds.
struct Bounds {
  float low, high;
};
inline bool is_clamp(const Activation& activation) {
  return activation.kind == ActivationKind::kNone || activation.kind == ActivationKind::kClamp;
}
inline Bounds bounds_of(const Activation& activation) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (activation.kind == ActivationKind::kClamp) return {activation.low, activation.high};
  return {-kInfinity, kInfinity};
}

// result = activation(sum + bias + residual), or activation(sum + bias) + residual if
// `residual_last`.
template <typename T>
struct Epilogue {
  const float* bias = nullptr;  // [channels] or null
  const T* residual = nullptr;  // an image of the result's size, or null; may be the result
  int64_t residual_stride = 0;  // its pixel stride
  bool residual_last = false;
  Activation activation;
};
using EpilogueF32 = Epilogue<float>;
using EpilogueF16 = Epilogue<Float16>;

// How the packed weights of a float32 layer lie in memory. Those in Float16 are widened where they
// are read; those in bfloat16 multiply activations that are rounded to it, and sums are float32.
enum class WeightFormat : uint8_t { kFloat32, kFloat16, kBFloat16 };

}  // namespace torchlet::kernels
