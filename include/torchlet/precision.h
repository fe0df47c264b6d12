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
  // Where has_bfloat16_products(), convolutions and linear layers round what they multiply to
  // bfloat16, which has the range of float32, and sum in float32: faster, an error of about eight
  // times kFloat16's, half the memory for those weights. All else is in float32, and everything
  // elsewhere.
  kBFloat16,
};
// From "fp32", "fp16" or "bf16"; Error kInvalidArgument naming these for another word.
TORCHLET_API Precision parse_precision(std::string_view name);
TORCHLET_API const char* precision_name(Precision precision);
// Whether this processor computes in float16: AVX512-FP16, or Armv8.2-A with half precision.
TORCHLET_API bool has_float16_arithmetic();
// Whether this processor multiplies in bfloat16 faster than in float32: AVX512-BF16.
TORCHLET_API bool has_bfloat16_products();

}  // namespace torchlet
