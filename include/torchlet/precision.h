// In which numbers a model is computed.
#pragma once

#include <torchlet/export.h>

#include <string_view>

namespace torchlet {

// How devices compute what is float32 in the program. Inputs, outputs, and tensors of other
// types stay what the program says.
enum class Precision {
  kFloat32,
  // Half the memory, an error of about 1e-3 of a tensor's largest value in image models, infinity
  // beyond 65504. Where has_float16_arithmetic(), convolutions, linear layers and what follows them
  // are in float16, and faster, unless the program has such tensors of its own. Elsewhere the
  // weights of layers that have many are, and all else is in float32: faster where reading weights
  // takes the time. On x86 this needs AVX2.
  kFloat16,
};
// From "fp32" or "fp16"; Error kInvalidArgument naming these for another word.
TORCHLET_API Precision parse_precision(std::string_view name);
// Whether this processor computes in float16: AVX512-FP16, or Armv8.2-A with half precision.
TORCHLET_API bool has_float16_arithmetic();

}  // namespace torchlet
