#include "ops/engines/dense_matrix.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "kernels/gemm/gemm.h"

namespace torchlet::ops::linalg {
namespace {

constexpr int64_t kSmall = 16;          // rows that are handled one by one
constexpr int64_t kKernelWork = 32768;  // products worth the GEMM kernel

template <typename T>
void negate(const View<T>& a) {
  for (int64_t i = 0; i < a.rows(); ++i) {
    for (int64_t j = 0; j < a.cols(); ++j) a(i, j) = -a(i, j);
  }
}

void subtract_with_kernel(const View<double>& a, const View<double>& b, const View<double>& c) {
  const Matrix<double> negative = copied(a);
  negate<double>(negative);
  kernels::gemm_f64(c.rows(), c.cols(), a.cols(), {negative.data, a.cols(), 1},
                    {b.data, b.row_step, b.col_step}, c.data, c.row_step, {.accumulate = true});
}

// Elimination column by column; `pivots` count from the top of `a`.
template <typename T>
int factor_columns(const View<T>& a, int32_t* pivots, bool pivot) {
  int info = 0;
  for (int64_t k = 0; k < a.cols(); ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; pivot && i < a.rows(); ++i) {
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    }
    pivots[k] = static_cast<int32_t>(best + 1);
    if (a(best, k) == T(0)) {
      if (info == 0) info = static_cast<int>(k + 1);
      continue;
    }
    if (best != k) swap(a.row(k), a.row(best));
    for (int64_t i = k + 1; i < a.rows(); ++i) {
      a(i, k) /= a(k, k);
      add_scaled(-a(i, k), a.row(k).from(k + 1), a.row(i).from(k + 1));
    }
  }
  return info;
}

}  // namespace

// What goes over vectors and rows polls, so that whatever is made of it ends in time.

template <typename T>
void add_scaled(T factor, Vector<T> x, Vector<T> y) {
  poll();
  if (x.step == 1 && y.step == 1) {
    const T* from = x.data;
    T* to = y.data;
    for (int64_t i = 0; i < x.size; ++i) to[i] += times(factor, from[i]);
  } else {
    for (int64_t i = 0; i < x.size; ++i) y[i] += times(factor, x[i]);
  }
}

template <typename T>
void scale(Vector<T> x, T factor) {
  for (int64_t i = 0; i < x.size; ++i) x[i] = times(x[i], factor);
}

template <typename T>
void swap(Vector<T> x, Vector<T> y) {
  for (int64_t i = 0; i < x.size; ++i) std::swap(x[i], y[i]);
}

template <typename T>
T dot(Vector<T> x, Vector<T> y) {
  poll();
  T sums[4] = {};  // independent of each other, so that additions overlap
  int64_t i = 0;
  for (; i + 4 <= x.size; i += 4) {
    for (int64_t k = 0; k < 4; ++k) sums[k] += times(conjugate(x[i + k]), y[i + k]);
  }
  for (; i < x.size; ++i) sums[0] += times(conjugate(x[i]), y[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <typename T>
double squared_norm(Vector<T> x) {
  return std::real(dot(x, x));
}

template <typename T>
double norm(Vector<T> x) {
  return std::sqrt(squared_norm(x));
}

template <typename T>
double norm(const View<T>& a) {
  double sum = 0;
  for (int64_t i = 0; i < a.rows(); ++i) sum += squared_norm(a.row(i));
  return std::sqrt(sum);
}

template <typename T>
bool all_finite(const View<T>& a) {
  for (int64_t i = 0; i < a.rows(); ++i) {
    poll();
    for (int64_t j = 0; j < a.cols(); ++j) {
      if (!std::isfinite(std::real(a(i, j))) || !std::isfinite(std::imag(a(i, j)))) return false;
    }
  }
  return true;
}

template <typename T>
void fill(const View<T>& a, T value) {
  for (int64_t i = 0; i < a.rows(); ++i) {
    poll();
    for (int64_t j = 0; j < a.cols(); ++j) a(i, j) = value;
  }
}

template <typename T>
void set_identity(const View<T>& a) {
  fill(a, T(0));
  for (int64_t i = 0; i < std::min(a.rows(), a.cols()); ++i) a(i, i) = T(1);
}

template <typename T>
void copy(const View<T>& from, const View<T>& to) {
  for (int64_t i = 0; i < to.rows(); ++i) {
    poll();
    for (int64_t j = 0; j < to.cols(); ++j) to(i, j) = from(i, j);
  }
}

template <typename T>
Matrix<T> copied(const View<T>& a) {
  Matrix<T> result(a.rows(), a.cols());
  copy<T>(a, result);
  return result;
}

template <typename T>
Matrix<T> adjoint_of(const View<T>& a) {
  Matrix<T> result(a.cols(), a.rows());
  for (int64_t i = 0; i < result.rows(); ++i) {
    poll();
    for (int64_t j = 0; j < result.cols(); ++j) result(i, j) = conjugate(a(j, i));
  }
  return result;
}

template <typename T>
void subtract_product(const View<T>& a, const View<T>& b, const View<T>& c) {
  if constexpr (std::is_same_v<T, double>) {
    if (c.col_step == 1 && c.rows() * c.cols() * a.cols() >= kKernelWork) {
      return subtract_with_kernel(a, b, c);
    }
  }
  for (int64_t i = 0; i < c.rows(); ++i) {
    if (c.cols() == 1) {
      for (int64_t k = 0; k < a.cols(); ++k) c(i, 0) -= times(a(i, k), b(k, 0));
    } else {
      for (int64_t k = 0; k < a.cols(); ++k) add_scaled(-a(i, k), b.row(k), c.row(i));
    }
  }
}

template <typename T>
Matrix<T> product(const View<T>& a, const View<T>& b) {
  Matrix<T> result(a.rows(), b.cols());
  subtract_product<T>(a, b, result);
  negate<T>(result);
  return result;
}

template <typename T>
void reflect_rows(const View<T>& a, Vector<T> v, T tau) {
  Matrix<T> sums(1, a.cols());
  for (int64_t i = 0; i < a.rows(); ++i) add_scaled(conjugate(v[i]), a.row(i), sums.row(0));
  for (int64_t i = 0; i < a.rows(); ++i) add_scaled(-times(tau, v[i]), sums.row(0), a.row(i));
}

template <typename T>
void solve_triangular(const View<T>& a, bool upper, bool unit, const View<T>& b) {
  const int64_t n = a.rows(), half = n / 2;
  if (n > kSmall) {  // halves: the product between them is most of the work
    const View<T> top = a.block(0, 0, half, half), bottom = a.block(half, half, n - half, n - half);
    const View<T> first = b.block(0, 0, half, b.cols()),
                  second = b.block(half, 0, n - half, b.cols());
    if (upper) {
      solve_triangular(bottom, upper, unit, second);
      subtract_product(a.block(0, half, half, n - half), second, first);
      solve_triangular(top, upper, unit, first);
    } else {
      solve_triangular(top, upper, unit, first);
      subtract_product(a.block(half, 0, n - half, half), first, second);
      solve_triangular(bottom, upper, unit, second);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t k = upper ? n - 1 - i : i;
    for (int64_t j = 0; j < b.cols() && !unit; ++j) b(k, j) /= a(k, k);
    for (int64_t r = upper ? 0 : k + 1; r < (upper ? k : n); ++r) {
      add_scaled(-a(r, k), b.row(k), b.row(r));
    }
  }
}

template <typename T>
int factor_lu(const View<T>& a, int32_t* pivots, bool pivot) {
  const int64_t m = a.rows(), n = a.cols(), count = std::min(m, n);
  if (count <= kSmall) {
    const int info = factor_columns(a.block(0, 0, m, count), pivots, pivot);
    if (n > count) {  // the columns beyond the square
      const View<T> rest = a.block(0, count, m, n - count);
      for (int64_t k = 0; k < count; ++k) swap(rest.row(k), rest.row(pivots[k] - 1));
      solve_triangular(a.block(0, 0, count, count), false, true, rest);
    }
    return info;
  }
  // The left half of the columns, then the right half without what the left explains.
  const int64_t half = count / 2;
  const View<T> left = a.block(0, 0, m, half), right = a.block(0, half, m, n - half);
  const int info = factor_lu(left, pivots, pivot);
  for (int64_t k = 0; k < half; ++k) swap(right.row(k), right.row(pivots[k] - 1));
  solve_triangular(a.block(0, 0, half, half), false, true, right.block(0, 0, half, n - half));
  subtract_product(left.block(half, 0, m - half, half), right.block(0, 0, half, n - half),
                   right.block(half, 0, m - half, n - half));
  const int rest = factor_lu(right.block(half, 0, m - half, n - half), pivots + half, pivot);
  for (int64_t k = half; k < count; ++k) {
    pivots[k] += static_cast<int32_t>(half);
    swap(left.row(k), left.row(pivots[k] - 1));
  }
  if (info != 0) return info;
  return rest == 0 ? 0 : rest + static_cast<int>(half);
}

#define TORCHLET_DENSE(T)                                                         \
  template void add_scaled(T, Vector<T>, Vector<T>);                              \
  template void scale(Vector<T>, T);                                              \
  template void swap(Vector<T>, Vector<T>);                                       \
  template T dot(Vector<T>, Vector<T>);                                           \
  template double squared_norm(Vector<T>);                                        \
  template double norm(Vector<T>);                                                \
  template double norm(const View<T>&);                                           \
  template bool all_finite(const View<T>&);                                       \
  template void fill(const View<T>&, T);                                          \
  template void set_identity(const View<T>&);                                     \
  template void copy(const View<T>&, const View<T>&);                             \
  template Matrix<T> copied(const View<T>&);                                      \
  template Matrix<T> adjoint_of(const View<T>&);                                  \
  template void subtract_product(const View<T>&, const View<T>&, const View<T>&); \
  template Matrix<T> product(const View<T>&, const View<T>&);                     \
  template void reflect_rows(const View<T>&, Vector<T>, T);                       \
  template void solve_triangular(const View<T>&, bool, bool, const View<T>&);     \
  template int factor_lu(const View<T>&, int32_t*, bool)
TORCHLET_DENSE(double);
TORCHLET_DENSE(std::complex<double>);
#undef TORCHLET_DENSE

}  // namespace torchlet::ops::linalg
