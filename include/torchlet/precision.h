// In which numbers a model is computed.
#pragma once

#include <torchlet/export.h>

#include <string_view>

namespace torchlet {

// How devices compute what is float32 in the program. Inputs, outputs, and tensors of other
// types stay what the program says.
enum class Precision {
  kFloat32,
  // Convolutions, linear layers and what follows them in float16, with half the memory: faster,
  // with an error of about 1e-3 of a tensor's largest value in image models. Numbers beyond 65504
  // become infinite. Long sums, and operators without a float16 kernel, are in float32. Only where
  // has_float16_arithmetic(); elsewhere, and for programs with float16 tensors of their own, the
  // same as kFloat32.
  kFloat16,
};
// From "fp32" or "fp16"; Error kInvalidArgument naming these for another word.
TORCHLET_API Precision parse_precision(std::string_view name);
// Whether this processor computes in float16: AVX512-FP16, or Armv8.2-A with half precision.
TORCHLET_API bool has_float16_arithmetic();

}  // namespace torchlet
