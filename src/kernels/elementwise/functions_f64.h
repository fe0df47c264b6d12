#pragma once

#include <cstdint>

namespace torchlet::kernels {

// Functions of doubles, within 5 units in the last place of the C library's, and as its own where
// an argument or a result is no usual number.
enum class DoubleFunction : uint8_t {
  kNone,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSin,
  kCos,
  kTanh,
  kSigmoid,
  kSqrt,
};

// Of `count` elements; y may be x. The function is not kNone.
void function_f64(DoubleFunction function, const double* x, double* y, int64_t count);

}  // namespace torchlet::kernels
