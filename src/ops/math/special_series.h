// Chebyshev series, the form in which special functions are kept: its first terms are nearly the
// best polynomial of their degree, so one table serves double and float.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/elementwise/elementwise_nhwc.h"

namespace torchlet::ops::special {

// How many terms of a table matter in the precision of T.
template <const auto& kTable, typename T>
constexpr size_t series_terms() {
  const auto magnitude = [](auto c) { return c < 0 ? -c : c; };
  double largest = 0, rest = 0;
  for (const auto c : kTable) largest = largest < magnitude(c) ? magnitude(c) : largest;
  size_t terms = std::size(kTable);
  for (; terms > 1; --terms) {
    rest += magnitude(kTable[terms - 1]);
    if (rest > largest * std::numeric_limits<T>::epsilon() / 8) break;
  }
  return terms;
}

// The sum of a series, as below.
inline double series_of(double t, const double* table, size_t terms) {
  double here = 0, before = 0;
  for (size_t k = terms - 1; k > 0; --k) {
    before = std::exchange(here, (t + t) * here - before + table[k]);
  }
  return t * here - before + table[0];
}
template <const auto& kTable, typename T, size_t... k>
[[gnu::always_inline]] inline T clenshaw(T t, std::index_sequence<k...>) {
  constexpr size_t kTerms = sizeof...(k) + 2;
  const T twice = t + t;
  T here = static_cast<T>(kTable[kTerms - 1]), before = 0;
  ((before = std::exchange(here, twice * here - before + static_cast<T>(kTable[kTerms - 2 - k]))),
   ...);
  return t * here - before + static_cast<T>(kTable[0]);
}

// c[0] + c[1] T_1(t) + c[2] T_2(t) + ..., |t| <= 1, by Clenshaw's method, with the terms that
// matter for a Result (T if void). For floats it has no loop and no branch, so that compilers make
// vectors of a loop around it.
template <const auto& kTable, typename Result = void, typename T>
[[gnu::always_inline]] inline T series(T t) {
  using Precision = std::conditional_t<std::is_void_v<Result>, T, Result>;
  constexpr size_t kTerms = series_terms<kTable, Precision>();
  if constexpr (std::is_same_v<Precision, float>) {
    return clenshaw<kTable>(t, std::make_index_sequence<kTerms - 2>());
  } else {
    return series_of(t, kTable, kTerms);
  }
}

// y[i] = f(x[i]).
template <typename F>
void each(const float* x, float* y, int64_t count, F f) {
  for (int64_t i = 0; i < count; ++i) y[i] = f(x[i]);
}

// The same for an f without branches: compilers make vectors of whole steps. y may be x.
template <typename F>
void each_in_steps(const float* x, float* y, int64_t count, F f) {
  constexpr int64_t kStep = 16;
  float from[kStep] = {}, to[kStep];
  for (int64_t i = 0; i < count; i += kStep) {
    const bool is_whole = count - i >= kStep;
    if (!is_whole) std::copy(x + i, x + count, from);
    const float* const step = is_whole ? x + i : from;
    for (int64_t k = 0; k < kStep; ++k) to[k] = f(step[k]);
    if (is_whole) {
      std::memcpy(y + i, to, sizeof(to));
    } else {
      std::copy(to, to + count - i, y + i);
    }
  }
}

// y[i] = near(x[i]) in steps, but f(x[i]) unless is_near(x[i]), which is rare.
template <typename P, typename Near, typename F>
void each_near(const float* x, float* y, int64_t count, P is_near, Near near, F f) {
  each_in_steps(x, y, count, near);
  constexpr int64_t kStep = 16;
  int64_t i = 0;
  const auto correct = [&](int64_t end) {
    for (; i < end; ++i) {
      if (!is_near(x[i])) y[i] = static_cast<float>(f(x[i]));
    }
  };
  for (; i + kStep <= count; i += kStep) {
    int32_t any = 0;
    for (int64_t k = 0; k < kStep; ++k) any |= static_cast<int32_t>(!is_near(x[i + k]));
    if (any) [[unlikely]] {
      correct(i + kStep);
      i -= kStep;
    }
  }
  correct(count);
}

// y[i] = f(x[i], log(of(x[i]))) in steps; y is not x.
template <typename Of, typename F>
void with_log(const float* x, float* y, int64_t count, Of of, F f) {
  constexpr int64_t kBlock = 256;
  float from[kBlock] = {}, logs[kBlock], to[kBlock];
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t n = std::min(kBlock, count - i);
    std::copy(x + i, x + i + n, from);
    for (int64_t k = 0; k < kBlock; ++k) logs[k] = of(from[k]);
    kernels::unary_rows_f32(kernels::MatrixUnaryOp::kLog, 1, n, logs, n, logs, n);
    for (int64_t k = 0; k < kBlock; ++k) to[k] = f(from[k], logs[k]);
    std::copy(to, to + n, y + i);
  }
}

}  // namespace torchlet::ops::special
