// Arithmetic of fixed-point numbers, bit for bit that of TensorFlow Lite's integer LSTMs
// (gemmlowp's fixedpoint.h). A number of 16 bits with n integer bits stands for raw / 2^(15 - n).
#pragma once

#include <algorithm>
#include <cstdint>

namespace torchlet::nn {

inline int16_t saturate16(int64_t x) {
  return static_cast<int16_t>(std::clamp<int64_t>(x, INT16_MIN, INT16_MAX));
}
inline int32_t saturate32(int64_t x) {
  return static_cast<int32_t>(std::clamp<int64_t>(x, INT32_MIN, INT32_MAX));
}

// x / 2^bits to the nearest; halves away from zero.
inline int64_t rounding_shift(int64_t x, int bits) {
  if (bits == 0) return x;
  const int64_t half = int64_t{1} << (bits - 1);
  return x >= 0 ? (x + half) >> bits : -((-x + half) >> bits);
}

// a b / 2^15 and a b / 2^31, to the nearest, halves up: the product of fixed-point numbers, which
// has the integer bits of both.
inline int16_t high_product16(int32_t a, int32_t b) {
  return saturate16((int64_t{a} * b + (1 << 14)) >> 15);
}
inline int32_t high_product32(int32_t a, int32_t b) {
  return saturate32((int64_t{a} * b + (int64_t{1} << 30)) >> 31);
}

// A real factor of integers: mantissa / 2^31 * 2^shift.
class Multiplier {
 public:
  Multiplier() = default;
  // Error kInvalidArgument unless it is a finite number below 2^30 that is not negative.
  explicit Multiplier(double factor);
  // Of an integer square root: 1 / sqrt(x), x >= 0; that of 0 is about that of 1.
  static Multiplier inverse_square_root(int32_t x);
  // Times 2^bits.
  Multiplier shifted(int bits) const;

  int32_t operator()(int64_t x) const {
    const int left = std::max(shift_, 0), right = std::max(-shift_, 0);
    const int32_t scaled = saturate32(int64_t{saturate32(x)} * (int64_t{1} << left));
    return static_cast<int32_t>(rounding_shift(high_product32(scaled, mantissa_), right));
  }

 private:
  Multiplier(int32_t mantissa, int shift) : mantissa_(mantissa), shift_(shift) {}
  int32_t mantissa_ = 0;
  int shift_ = 0;
};

// Of a number with 3 integer bits; the result has none.
int16_t fixed_sigmoid(int16_t x);
// Of a number with 0 to 6 integer bits; the result has none.
int16_t fixed_tanh(int16_t x, int integer_bits);

}  // namespace torchlet::nn
