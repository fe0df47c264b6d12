// Division, remainders and wrapping arithmetic with PyTorch's rules. Integers wrap around instead
// of overflowing, and a division by zero is an error; floats follow IEEE 754.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "base/error.h"

namespace torchlet::ops {

template <typename T>
T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T wrap_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}
template <typename T>
T wrap_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename T>
T wrap_abs(T a) {
  return a < 0 ? wrap_sub(T(0), a) : a;
}
// Of integers; 0 for two zeros.
template <typename T>
T greatest_divisor(T a, T b) {
  const auto magnitude = [](T x) {
    return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  };
  return static_cast<T>(std::gcd(magnitude(a), magnitude(b)));
}

inline void check_divisor(int64_t b) { TORCHLET_CHECK(b != 0, "ZeroDivisionError"); }

inline int64_t trunc_divide(int64_t a, int64_t b) {
  check_divisor(b);
  return b == -1 ? wrap_sub<int64_t>(0, a) : a / b;
}
inline int64_t trunc_remainder(int64_t a, int64_t b) {
  check_divisor(b);
  return b == -1 ? 0 : a % b;
}
inline int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = trunc_divide(a, b);
  return b != -1 && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
inline int64_t floor_remainder(int64_t a, int64_t b) {
  const int64_t rest = trunc_remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// In double the quotient of two floats is on the right side of an integer up to here, and the
// product of that integer and the divisor is exact. It is not 0, as that of an infinite divisor.
inline bool is_exact_quotient(double quotient) {
  return (std::abs(quotient) < 0x1p28) & (quotient != 0);
}

// The remainder of the quotient that is truncated, as std::fmod, which is exact and slow.
template <typename T>
requires std::is_floating_point_v<T> T trunc_remainder(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    const double quotient = static_cast<double>(a) / static_cast<double>(b);
    if (is_exact_quotient(quotient)) {
      const auto whole = static_cast<double>(static_cast<int32_t>(quotient));
      return std::copysign(static_cast<float>(a - whole * static_cast<double>(b)), a);
    }
  }
  return std::fmod(a, b);
}

// The quotient is taken after the remainder, as Python does, so that a // b fits a % b.
template <typename T>
requires std::is_floating_point_v<T> T floor_divide(T a, T b) {
  if (b == 0) return a / b;
  if constexpr (std::is_same_v<T, float>) {
    const double quotient = static_cast<double>(a) / static_cast<double>(b);
    if (is_exact_quotient(quotient)) {
      const auto whole = static_cast<double>(static_cast<int32_t>(quotient));
      return static_cast<float>(std::copysign(whole - (whole > quotient), quotient));
    }
  }
  const T rest = trunc_remainder(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T floored = std::floor(quotient);
  return quotient - floored > T(0.5) ? floored + 1 : floored;
}
template <typename T>
requires std::is_floating_point_v<T> T floor_remainder(T a, T b) {
  const T rest = trunc_remainder(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

// a^b by squaring, wrapping; a negative exponent gives the reciprocal truncated to an integer.
inline int64_t integer_pow(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; b != 0; b /= 2, a = wrap_mul(a, a)) {
    if (b % 2) result = wrap_mul(result, a);
  }
  return result;
}

}  // namespace torchlet::ops
