// Arithmetic on numbers that a program gives: sizes, strides, offsets, kernels, paddings, factors.
// A result that does not fit into 64 bits is an error here and nowhere undefined.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"

namespace torchlet {

// Error kInvalidArgument.
[[noreturn, gnu::cold]] void fail_overflow(int64_t a, const char* operation, int64_t b);

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) [[unlikely]]
    fail_overflow(a, "+", b);
  return result;
}
inline int64_t checked_sub(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_sub_overflow(a, b, &result)) [[unlikely]]
    fail_overflow(a, "-", b);
  return result;
}
inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) [[unlikely]]
    fail_overflow(a, "*", b);
  return result;
}
// Of any number of factors; 1 for none.
inline int64_t checked_product(std::span<const int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) product = checked_mul(product, factor);
  return product;
}

// A real number as an integer: truncated, the nearest one there is, and 0 for NaN.
inline int64_t saturating_int(double value) {
  if (value >= 0x1p63) return INT64_MAX;
  if (value <= -0x1p63) return INT64_MIN;
  return value == value ? static_cast<int64_t>(value) : 0;
}

}  // namespace torchlet
