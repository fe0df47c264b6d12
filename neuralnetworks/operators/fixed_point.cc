#include "neuralnetworks/operators/fixed_point.h"

#include <bit>
#include <cmath>

#include "base/error.h"

namespace torchlet::nn {
namespace {

// e^x for x in [-1/4, 0), without integer bits: a Taylor polynomial around -1/8.
int16_t exp_of_small(int32_t x) {
  constexpr int32_t kExpOfMinusEighth = 28918, kThird = 10923;  // times 2^15
  const int32_t d = x + (1 << 12);
  const int32_t d2 = high_product16(d, d);
  const int32_t d3 = high_product16(d2, d);
  const int32_t d4 = high_product16(d2, d2);
  // d^2 / 2 + d^3 / 6 + d^4 / 24
  const int64_t rest = rounding_shift(
      high_product16(static_cast<int32_t>(rounding_shift(d4, 2)) + d3, kThird) + d2, 1);
  return saturate16(kExpOfMinusEighth +
                    high_product16(kExpOfMinusEighth, d + static_cast<int32_t>(rest)));
}

// e^x for x <= 0 with `integer_bits` of at most 7; the result has none. The bits of -x from 1/4 up
// each stand for a factor.
int16_t exp_of_negative(int32_t x, int integer_bits) {
  // 2^15 e^-(1/4), e^-(1/2), e^-1, ..., e^-16
  constexpr int32_t kFactors[] = {25520, 19875, 12055, 4435, 600, 11, 0};
  if (x == 0) return INT16_MAX;
  const int fraction_bits = 15 - integer_bits;
  if (integer_bits > 5 && x < -(1 << (fraction_bits + 5))) return 0;
  const int32_t quarter = 1 << (fraction_bits - 2);
  const int32_t small = (x & (quarter - 1)) - quarter;
  const int32_t large = small - x;
  int16_t result = exp_of_small(small * (1 << integer_bits));
  for (int i = 0; i < 7 && i - 2 < integer_bits; ++i) {
    if (large & (quarter << i)) result = high_product16(result, kFactors[i]);
  }
  return result;
}

// 2 / (1 + x) for x in [0, 1] without integer bits, by Newton's method; the result has 2.
int32_t twice_inverse_of_one_plus(int32_t x) {
  constexpr int32_t kOne = 1 << 13;
  const int32_t half_denominator = (x + INT16_MAX + 1) / 2;
  // 48 / 17 - 32 / 17 of it
  int32_t inverse = 23130 + high_product16(half_denominator, -15420);
  for (int i = 0; i < 3; ++i) {
    const int32_t error = kOne - high_product16(half_denominator, inverse);
    inverse += saturate16(int64_t{high_product16(inverse, error)} * 4);
  }
  return inverse;
}

}  // namespace

Multiplier::Multiplier(double factor) {
  TORCHLET_CHECK(factor >= 0 && factor < 0x1p30, "the scales make a factor of %g", factor);
  const double mantissa = std::frexp(factor, &shift_);
  int64_t fixed = std::llround(mantissa * 0x1p31);
  if (fixed == int64_t{1} << 31) fixed /= 2, ++shift_;
  if (shift_ < -31) fixed = 0, shift_ = 0;
  mantissa_ = static_cast<int32_t>(fixed);
}

Multiplier Multiplier::inverse_square_root(int32_t x) {
  if (x <= 1) return {INT32_MAX, 0};
  int right = 11;
  for (; x >= 1 << 29; x /= 4) ++right;
  // To [2^27, 2^29) by factors of 4.
  const int pairs = (std::countl_zero(static_cast<uint32_t>(x)) - 1) / 2 - 1;
  right -= pairs;
  x <<= 2 * pairs;
  // Newton's method on numbers with 3 integer bits.
  constexpr int32_t kOne = 1 << 28, kHalfThree = kOne + kOne / 2, kHalfRootOfTwo = 1518500250;
  const auto half = static_cast<int32_t>(rounding_shift(x >> 1, 1));
  int32_t y = kOne;
  for (int i = 0; i < 5; ++i) {
    const int32_t cube = saturate32(int64_t{high_product32(high_product32(y, y), y)} * 64);
    y = saturate32((int64_t{high_product32(kHalfThree, y)} - high_product32(half, cube)) * 8);
  }
  y = high_product32(y, kHalfRootOfTwo);
  if (right < 0) y = saturate32(int64_t{y} * (int64_t{1} << -right)), right = 0;
  return {y, -right};
}

Multiplier Multiplier::shifted(int bits) const {
  return {mantissa_, std::clamp(shift_ + bits, -31, 30)};
}

int16_t fixed_sigmoid(int16_t x) {
  if (x == 0) return 1 << 14;
  const int32_t inverse = twice_inverse_of_one_plus(exp_of_negative(-std::abs(int32_t{x}), 3));
  // Half of it, from 2 integer bits to none.
  const int16_t positive = saturate16(int64_t{inverse} * 2);
  return x > 0 ? positive : static_cast<int16_t>(INT16_MAX - positive);
}

int16_t fixed_tanh(int16_t x, int integer_bits) {
  if (x == 0) return 0;
  // (1 - e) / (1 + e) = 2 / (1 + e) - 1 for e = e^-2x
  const int32_t exponential = exp_of_negative(-std::abs(int32_t{x}), integer_bits + 1);
  const int16_t positive =
      saturate16(int64_t{twice_inverse_of_one_plus(exponential) - (1 << 13)} * 4);
  return x > 0 ? positive : static_cast<int16_t>(-positive);
}

}  // namespace torchlet::nn
