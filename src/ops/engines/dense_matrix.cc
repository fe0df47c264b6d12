#include "ops/engines/dense_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/limits.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/vectors.h"
#include "kernels/layout/transpose.h"

namespace torchlet::ops::linalg {
namespace {

constexpr int64_t kSmall = 16;          // rows that are handled one by one
constexpr int64_t kTiny = 8;            // elements that are worth no call
constexpr int64_t kFew = 4;             // columns that are worth laying contiguously
constexpr int64_t kKernelWork = 4096;   // products worth the GEMM kernel
constexpr int64_t kFewProducts = 1024;  // reflections of which are worth no matrices

template <typename T>
void negate(const View<T>& a) {
  for (int64_t i = 0; i < a.rows(); ++i) scale(a.row(i), T(-1));
}

void multiply_add(const View<float>& a, const View<float>& b, const View<float>& c) {
  kernels::gemm_f32(c.rows(), c.cols(), a.cols(), {a.data, a.row_step, a.col_step},
                    {b.data, b.row_step, b.col_step}, c.data, c.row_step, {.accumulate = true});
}
void multiply_add(const View<double>& a, const View<double>& b, const View<double>& c) {
  kernels::gemm_f64(c.rows(), c.cols(), a.cols(), {a.data, a.row_step, a.col_step},
                    {b.data, b.row_step, b.col_step}, c.data, c.row_step, {.accumulate = true});
}

template <typename T>
void subtract_with_kernel(const View<T>& a, const View<T>& b, const View<T>& c) {
  const bool is_a = a.rows() < b.cols();  // the smaller one is negated
  const Matrix<T> negative = copied(is_a ? a : b);
  negate<T>(negative);
  is_a ? multiply_add(negative, b, c) : multiply_add(a, negative, c);
}

// The place of the largest absolute value, the first of equal ones. A NaN counts only at the
// beginning.
template <typename T>
int64_t largest(Vector<T> x) {
  int64_t best = 0;
  double most = std::abs(x[0]);
  constexpr int64_t kTogether = 8;  // compared with what was the largest before them
  for (int64_t i = 0; i < x.size;) {
    if (i + kTogether <= x.size) {
      bool more = false;
      for (int64_t j = i; j < i + kTogether; ++j) more |= std::abs(x[j]) > most;
      if (!more) {
        i += kTogether;
        continue;
      }
    }
    for (const int64_t end = std::min(x.size, i + kTogether); i < end; ++i) {
      if (const double size = std::abs(x[i]); size > most) most = size, best = i;
    }
  }
  return best;
}

// Row r of `rows` -= factors[r] x.
template <typename T>
[[gnu::always_inline]] inline void subtract_outer(Vector<T> factors, Vector<T> x,
                                                  const View<T>& rows) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x.size > kTiny && x.step == 1 && rows.col_step == 1) {
      poll();
      return kernels::subtract_outer(factors.data, factors.step, x.data, rows.data, rows.row_step,
                                     factors.size, x.size);
    }
  }
  for (int64_t r = 0; r < factors.size; ++r) {
    const T factor = factors[r];
    for (int64_t j = 0; j < x.size; ++j) rows(r, j) -= times(factor, x[j]);
  }
}

// Elimination column by column; `pivots` count from the top of `a`.
template <typename T>
int factor_columns(const View<T>& a, int32_t* pivots, bool pivot) {
  int info = 0;
  for (int64_t k = 0; k < a.cols(); ++k) {
    const Vector<T> column = a.col(k).from(k);
    const int64_t best = k + (pivot ? largest(column) : 0);
    pivots[k] = static_cast<int32_t>(best + 1);
    if (a(best, k) == T(0)) {
      if (info == 0) info = static_cast<int>(k + 1);
      continue;
    }
    if (best != k) swap(a.row(k), a.row(best));
    if (std::abs(column[0]) >= std::numeric_limits<decltype(std::abs(T()))>::min()) {
      const T factor = T(1) / column[0];
      if (column.size > kTiny) scale(column.from(1), factor);
      for (int64_t i = 1; column.size <= kTiny && i < column.size; ++i) {
        column[i] = times(column[i], factor);
      }
    } else {  // whose reciprocal may be infinite
      for (int64_t i = 1; i < column.size; ++i) column[i] /= column[0];
    }
    const int64_t rows = a.rows() - k - 1, others = a.cols() - k - 1;
    subtract_outer(a.row(k).from(k + 1), column.from(1),
                   a.block(k + 1, k + 1, rows, others).transposed());
  }
  return info;
}

// Reflects the first column of `a`, and the others with it. Returns tau.
template <typename T>
T reflect_column(const View<T>& a) {
  const Vector<T> column = a.col(0);
  const T tau = make_reflection(column), beta = column[0];
  if (tau == T(0)) return tau;
  column[0] = T(1);
  reflect_rows(a.block(0, 1, a.rows(), a.cols() - 1), column, conjugate(tau));
  column[0] = beta;
  return tau;
}

// apply_reflections() of few elements.
template <typename T>
void reflect_one_by_one(const View<T>& packed, const T* tau, bool adjoint, const View<T>& c) {
  const int64_t m = packed.rows(), count = packed.cols();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t k = adjoint ? i : count - 1 - i;
    const T factor = adjoint ? conjugate(tau[k]) : tau[k];
    for (int64_t j = 0; j < c.cols(); ++j) {
      T sum = c(k, j);
      for (int64_t r = k + 1; r < m; ++r) sum += times(conjugate(packed(r, k)), c(r, j));
      sum = times(factor, sum);
      c(k, j) -= sum;
      for (int64_t r = k + 1; r < m; ++r) c(r, j) -= times(sum, packed(r, k));
    }
  }
}

}  // namespace

// What goes over vectors and rows polls, so that whatever is made of it ends in time; of a few
// elements, what goes over a batch of matrices does.
void poll_for(int64_t size) {
  if (size > kTiny) poll();
}

template <typename T>
void add_scaled(T factor, Vector<T> x, Vector<T> y) {
  poll_for(x.size);
  if constexpr (std::is_floating_point_v<T>) {
    if (x.size > kTiny && x.step == 1 && y.step == 1) {
      return kernels::add_scaled(factor, x.data, y.data, x.size);
    }
  }
  for (int64_t i = 0; i < x.size; ++i) y[i] += times(factor, x[i]);
}

template <typename T>
void scale(Vector<T> x, T factor) {
  if (std::is_floating_point_v<T> && x.step == 1) {  // of which the compiler makes vectors
    for (T& value : std::span(x.data, static_cast<size_t>(x.size))) value = times(value, factor);
    return;
  }
  for (int64_t i = 0; i < x.size; ++i) x[i] = times(x[i], factor);
}

template <typename T>
void swap(Vector<T> x, Vector<T> y) {
  if (x.data == y.data) return;
  if (x.step == 1 && y.step == 1) {
    std::swap_ranges(x.data, x.data + x.size, y.data);
    return;
  }
  for (int64_t i = 0; i < x.size; ++i) std::swap(x[i], y[i]);
}

template <typename T>
T dot(Vector<T> x, Vector<T> y) {
  poll_for(x.size);
  if constexpr (std::is_floating_point_v<T>) {
    if (x.size > kTiny && x.step == 1 && y.step == 1) return kernels::dot(x.data, y.data, x.size);
  }
  T sums[4] = {};  // independent of each other, so that additions overlap
  for (int64_t i = 0; i < x.size; ++i) sums[i % 4] += times(conjugate(x[i]), y[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <typename T>
double squared_norm(Vector<T> x) {
  if constexpr (std::is_same_v<T, float>) {  // in double, where squares neither vanish nor overflow
    double sums[4] = {};
    for (int64_t i = 0; i < x.size; ++i) sums[i % 4] += static_cast<double>(x[i]) * x[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
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
    poll_for(a.cols());
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
  if (to.rows() == 0 || to.cols() == 0) return;
  if (to.row_step == 1 && to.col_step != 1) return copy(from.transposed(), to.transposed());
  if constexpr (sizeof(T) <= 8) {
    if (from.row_step == 1 && from.col_step != 1 && to.col_step == 1) {
      poll_for(to.cols());
      return kernels::transpose(sizeof(T), to.cols(), to.rows(), from.data, from.col_step, to.data,
                                to.row_step);
    }
    if (from.col_step == 1 && to.col_step == 1) {
      poll_for(to.rows());
      for (int64_t i = 0; i < to.rows(); ++i) std::copy_n(&from(i, 0), to.cols(), &to(i, 0));
      return;
    }
  }
  for (int64_t i = 0; i < to.rows(); ++i) {
    poll_for(to.cols());
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
void add_product(const View<T>& a, const View<T>& b, const View<T>& c) {
  if (c.col_step != 1) return add_product<T>(b.transposed(), a.transposed(), c.transposed());
  if (a.cols() > 0) multiply_add(a, b, c);
}

template <typename T>
void subtract_product(const View<T>& a, const View<T>& b, const View<T>& c) {
  if (c.row_step == 1 && c.rows() > 1 && (c.col_step != 1 || c.cols() == 1)) {  // as rows
    return subtract_product(b.transposed(), a.transposed(), c.transposed());
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (c.col_step == 1 && c.rows() * c.cols() * a.cols() >= kKernelWork) {
      return subtract_with_kernel(a, b, c);
    }
    if (b.row_step == 1 && b.col_step != 1) {
      for (int64_t i = 0; i < c.rows(); ++i) {
        for (int64_t j = 0; j < c.cols(); ++j) c(i, j) -= dot(a.row(i), b.col(j));
      }
      return;
    }
  }
  for (int64_t i = 0; i < c.rows(); ++i) {
    for (int64_t k = 0; k < a.cols(); ++k) add_scaled(-a(i, k), b.row(k), c.row(i));
  }
}

template <typename T>
Matrix<T> product(const View<T>& a, const View<T>& b) {
  Matrix<T> result(a.rows(), b.cols());
  if constexpr (std::is_floating_point_v<T>) {
    add_product<T>(a, b, result);
  } else {
    subtract_product<T>(a, b, result);
    negate<T>(result);
  }
  return result;
}

template <typename T>
void rotate(Vector<T> x, Vector<T> y, double c, double s) {
  poll_for(x.size);
  if constexpr (std::is_same_v<T, double>) {
    if (x.size > kTiny && x.step == 1 && y.step == 1)
      return kernels::rotate(c, s, x.data, y.data, x.size);
  }
  for (int64_t i = 0; i < x.size; ++i) {
    const T first = x[i];
    x[i] = c * first + s * y[i];
    y[i] = c * y[i] - s * first;
  }
}

template <typename T>
T make_reflection(Vector<T> column) {
  using Wide = WideOf<T>;
  const Vector<T> below = column.from(1);
  const Wide alpha = column[0];
  const double length = norm(below);
  if (length == 0 && std::imag(alpha) == 0) return T(0);
  const double whole = std::hypot(std::abs(alpha), length);
  const double beta = std::real(alpha) >= 0 ? -whole : whole;
  const Wide factor = Wide(1) / (alpha - beta);
  for (int64_t i = 0; i < below.size; ++i) {
    below[i] = static_cast<T>(times(static_cast<Wide>(below[i]), factor));
  }
  column[0] = static_cast<T>(beta);
  return static_cast<T>((beta - alpha) / beta);
}

template <typename T>
void reflect_rows(const View<T>& a, Vector<T> v, T tau) {
  if (a.row_step == 1) {
    for (int64_t j = 0; j < a.cols(); ++j) {
      add_scaled(-times(tau, dot(v, a.col(j))), v, a.col(j));
    }
    return;
  }
  Matrix<T> sums(1, a.cols());
  for (int64_t i = 0; i < a.rows(); ++i) add_scaled(conjugate(v[i]), a.row(i), sums.row(0));
  scale(sums.row(0), tau);
  subtract_outer<T>(v, sums.row(0), a);
}

template <typename T>
void apply_reflections(const View<T>& packed, const T* tau, bool adjoint, const View<T>& c) {
  constexpr bool kIsReal = std::is_floating_point_v<T>;
  const int64_t m = packed.rows(), count = packed.cols();
  if (m * count * c.cols() <= kFewProducts) return reflect_one_by_one(packed, tau, adjoint, c);
  for (int64_t done = 0; done < count; done += kReflections) {
    // Some of them are I - V U^-1 V^H with V below a diagonal of ones and an upper triangle U: that
    // of V^H V, with 1 / tau on its diagonal (Joffrain et al., "Accumulating Householder
    // transformations, revisited", 2006).
    const int64_t n = std::min(kReflections, count - done), at = adjoint ? done : count - done - n;
    const Matrix<T> v(m - at, n);
    for (int64_t i = 0; i < std::min(n, v.rows()); ++i) {
      for (int64_t j = 0; j < i; ++j) v(i, j) = packed(at + i, at + j);
      v(i, i) = T(1);
    }
    const int64_t below = std::max<int64_t>(0, v.rows() - n);
    copy(packed.block(at + n, at, below, n), v.block(n, 0, below, n));
    for (int64_t j = 0; j < n; ++j) {
      if (tau[at + j] == T(0)) fill(v.block(0, j, v.rows(), 1), T(0));  // I
    }
    const Matrix<T> conjugated = kIsReal ? Matrix<T>(0, 0) : adjoint_of<T>(v);
    const View<T> turned = kIsReal ? v.transposed() : View<T>(conjugated);
    const Matrix<T> triangle = product<T>(turned, v);
    for (int64_t j = 0; j < n; ++j) {
      triangle(j, j) = tau[at + j] == T(0) ? T(1) : T(1) / tau[at + j];
    }
    const View<T> rows = c.block(at, 0, m - at, c.cols());
    const Matrix<T> shares = product<T>(turned, rows);
    if constexpr (kIsReal) {
      negate<T>(triangle);
      const View<T> u = triangle;
      solve_triangular<T>(adjoint ? u.transposed() : u, !adjoint, false, shares);
      add_product<T>(v, shares, rows);
    } else {
      const Matrix<T> u = adjoint ? adjoint_of<T>(triangle) : copied<T>(triangle);
      solve_triangular<T>(u, !adjoint, false, shares);
      subtract_product<T>(v, shares, rows);
    }
  }
}

// Some columns on the left, by halves, then the others without what these explain.
template <typename T>
void factor_qr(const View<T>& a, T* tau) {
  const int64_t m = a.rows(), n = a.cols(), count = std::min(m, n);
  const int64_t half = count <= kSmall ? count : std::min(count / 2, kReflections);
  const View<T> left = a.block(0, 0, m, half), right = a.block(0, half, m, n - half);
  if (count <= kSmall) {
    // In double, so that columns that are nearly spanned by others keep what is their own, and with
    // contiguous columns.
    using Wide = WideOf<T>;
    const Matrix<Wide> turned(count, m);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < count; ++j) turned(j, i) = left(i, j);
    }
    const View<Wide> columns = turned.transposed();
    for (int64_t j = 0; j < count; ++j) {
      tau[j] = static_cast<T>(reflect_column(columns.block(j, j, m - j, count - j)));
    }
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < count; ++j) left(i, j) = static_cast<T>(turned(j, i));
    }
  } else {
    factor_qr(left, tau);
  }
  if (n == half) return;
  apply_reflections(left, tau, true, right);
  if (half < count) factor_qr(right.block(half, 0, m - half, n - half), tau + half);
}

template <typename T>
void solve_triangular(const View<T>& a, bool upper, bool unit, const View<T>& b) {
  const int64_t n = a.rows(), half = n / 2;
  const bool is_tiny = n <= kTiny && b.cols() <= kTiny;
  if (!is_tiny && b.cols() <= kFew && b.row_step != 1) {
    const Matrix<T> columns = copied(b.transposed());
    solve_triangular<T>(a, upper, unit, columns.transposed());
    return copy<T>(columns.transposed(), b);
  }
  if (!is_tiny && b.cols() > kFew && b.row_step == 1 && b.col_step != 1) {
    const Matrix<T> rows = copied(b);
    solve_triangular<T>(a, upper, unit, rows);
    return copy<T>(rows, b);
  }
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
    if (!unit && !is_tiny && b.col_step == 1) {
      scale(b.row(k), T(1) / a(k, k));
    } else {
      for (int64_t j = 0; j < b.cols() && !unit; ++j) b(k, j) /= a(k, k);
    }
    const int64_t first = upper ? 0 : k + 1, others = n - 1 - i;
    subtract_outer(a.col(k).from(first).head(others), b.row(k),
                   b.block(first, 0, others, b.cols()));
  }
}

template <typename T>
int factor_lu(const View<T>& a, int32_t* pivots, bool pivot) {
  const int64_t m = a.rows(), n = a.cols(), count = std::min(m, n);
  if (m <= kTiny && n <= m) return factor_columns(a, pivots, pivot);
  if (count <= kSmall) {
    const View<T> columns = a.block(0, 0, m, count);
    const Matrix<T> turned = copied(columns.transposed());  // so that they are contiguous
    const int info = factor_columns(turned.transposed(), pivots, pivot);
    copy<T>(turned.transposed(), columns);
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

// Halves: L21 from A21^H = L11 L21^H, then the rest without what it explains.
template <typename T>
int factor_cholesky(const View<T>& a) {
  const int64_t n = a.rows(), half = n / 2;
  if (n > kSmall) {
    const View<T> top = a.block(0, 0, half, half), left = a.block(half, 0, n - half, half),
                  bottom = a.block(half, half, n - half, n - half);
    if (const int info = factor_cholesky(top)) return info;
    if constexpr (std::is_floating_point_v<T>) {
      solve_triangular(top, false, false, left.transposed());
      subtract_product(left, left.transposed(), bottom);
    } else {
      const Matrix<T> turned = adjoint_of(left);
      solve_triangular<T>(top, false, false, turned);
      copy<T>(adjoint_of<T>(turned), left);
      subtract_product<T>(left, turned, bottom);
    }
    const int info = factor_cholesky(bottom);
    return info ? info + static_cast<int>(half) : 0;
  }
  for (int64_t j = 0; j < n; ++j) {
    double pivot = std::real(a(j, j));
    for (int64_t k = 0; k < j; ++k) pivot -= std::norm(WideOf<T>(a(j, k)));
    if (!(pivot > 0)) return static_cast<int>(j + 1);
    const double root = std::sqrt(pivot);
    a(j, j) = T(root);
    for (int64_t r = j + 1; r < n; ++r) {
      T rest = a(r, j);
      for (int64_t k = 0; k < j; ++k) rest -= times(conjugate(a(j, k)), a(r, k));
      a(r, j) = rest / T(root);
    }
  }
  return 0;
}

#define TORCHLET_DENSE(T)                                                          \
  template void add_scaled(T, Vector<T>, Vector<T>);                               \
  template void scale(Vector<T>, T);                                               \
  template void swap(Vector<T>, Vector<T>);                                        \
  template T dot(Vector<T>, Vector<T>);                                            \
  template double squared_norm(Vector<T>);                                         \
  template double norm(Vector<T>);                                                 \
  template double norm(const View<T>&);                                            \
  template bool all_finite(const View<T>&);                                        \
  template void fill(const View<T>&, T);                                           \
  template void set_identity(const View<T>&);                                      \
  template void copy(const View<T>&, const View<T>&);                              \
  template Matrix<T> copied(const View<T>&);                                       \
  template Matrix<T> adjoint_of(const View<T>&);                                   \
  template void factor_qr(const View<T>&, T*);                                     \
  template void subtract_product(const View<T>&, const View<T>&, const View<T>&);  \
  template Matrix<T> product(const View<T>&, const View<T>&);                      \
  template void apply_reflections(const View<T>&, const T*, bool, const View<T>&); \
  template void solve_triangular(const View<T>&, bool, bool, const View<T>&);      \
  template int factor_lu(const View<T>&, int32_t*, bool);                          \
  template int factor_cholesky(const View<T>&)
TORCHLET_DENSE(float);
TORCHLET_DENSE(double);
TORCHLET_DENSE(std::complex<double>);
#undef TORCHLET_DENSE
template void add_product(const View<float>&, const View<float>&, const View<float>&);
template void add_product(const View<double>&, const View<double>&, const View<double>&);
#define TORCHLET_REFLECTIONS(T)                               \
  template void rotate(Vector<T>, Vector<T>, double, double); \
  template T make_reflection(Vector<T>);                      \
  template void reflect_rows(const View<T>&, Vector<T>, T)
TORCHLET_REFLECTIONS(float);
TORCHLET_REFLECTIONS(double);
TORCHLET_REFLECTIONS(std::complex<double>);
#undef TORCHLET_REFLECTIONS

}  // namespace torchlet::ops::linalg
