#include "ops/linalg/reductions.h"

#include <algorithm>

#include "base/limits.h"
#include "kernels/gemm/vectors.h"

namespace torchlet::ops::linalg {
namespace {

// Reflections that are gathered before what is left of the matrix changes: few, because what they
// have done to a column is made up for one by one.
constexpr int64_t kPanel = 16;
constexpr int64_t kSmall = 48;  // columns for which panels do not pay
// Columns of a symmetric matrix that change together, from the diagonal on.
constexpr int64_t kBlock = 64;

template <typename T>
View<T> as_row(Vector<T> v) {
  return {v.data, 1, v.size, v.size, 1};
}

// The reflection that leaves `beta` of v, and v itself, which begins with 1.
template <typename T>
T reflect(Vector<T> v, std::vector<double>* beta) {
  const T tau = make_reflection(v);
  beta->push_back(std::real(v[0]));
  v[0] = T(1);
  return tau;
}

// a (I - tau v v^H): the reflection from the right.
template <typename T>
void reflect_cols(const View<T>& a, Vector<T> v, T tau) {
  if constexpr (std::is_floating_point_v<T>) {
    reflect_rows(a.transposed(), v, tau);
  } else {
    const Matrix<T> turned = adjoint_of<T>({v.data, v.size, 1, v.step, 1});
    reflect_rows(a.transposed(), turned.row(0), tau);
  }
}

// H a H^H with H = I - conj(tau) v v^H, of a Hermitian matrix, of which the lower triangle is read
// and written: a - v w^H - w v^H.
template <typename T>
void reflect_both(const View<T>& a, Vector<T> v, T tau) {
  const int64_t n = a.rows();
  const Matrix<T> products(1, n);  // a v, then w
  const Vector<T> w = products.row(0);
  for (int64_t j = 0; j < n; ++j) {
    const Vector<T> below = a.col(j).from(j + 1);
    w[j] += times(a(j, j), v[j]) + dot(below, v.from(j + 1));
    add_scaled(v[j], below, w.from(j + 1));
  }
  scale(w, tau);
  add_scaled(times(times(conjugate(tau), T(-0.5)), dot(v, w)), v, w);
  for (int64_t j = 0; j < n; ++j) {
    const Vector<T> column = a.col(j).from(j);
    add_scaled(-conjugate(v[j]), w.from(j), column);
    add_scaled(-conjugate(w[j]), v.from(j), column);
  }
}

// What a real matrix A has become by the reflections of a panel is A + P Q^T, so that A itself
// changes once for all of them.
template <typename T>
struct Changes {
  Changes(int64_t m, int64_t n) : p(m, 2 * kPanel), q(n, 2 * kPanel), sums(1, 2 * kPanel) {}

  // x += row i of P's first `known` columns times Q from row j on; and the other way round.
  void add_row(int64_t i, int64_t j, int64_t known, Vector<T> x) const {
    add_product<T>(p.block(i, 0, 1, known), q.block(j, 0, x.size, known).transposed(), as_row(x));
  }
  void add_column(int64_t i, int64_t j, int64_t known, Vector<T> x) const {
    add_product<T>(q.block(j, 0, 1, known), p.block(i, 0, x.size, known).transposed(), as_row(x));
  }
  // y += left (right^T x), of the rows that belong to y and x.
  void add_product_with(const View<T>& left, const View<T>& right, int64_t known, Vector<T> x,
                        Vector<T> y) const {
    const View<T> s = sums.block(0, 0, 1, known);
    fill(s, T(0));
    add_product<T>(as_row(x), right.block(right.rows() - x.size, 0, x.size, known), s);
    add_product<T>(s, left.block(left.rows() - y.size, 0, y.size, known).transposed(), as_row(y));
  }

  Columns<T> p, q;
  Matrix<T> sums;
};

// y = A x, of the last rows and columns of a symmetric matrix, of which the lower triangle is read.
template <typename T>
void multiply_symmetric(const View<T>& a, Vector<T> x, Vector<T> y) {
  const int64_t n = x.size, first = a.rows() - n;
  fill(as_row(y), T(0));
  for (int64_t j = 0; j < n; j += kernels::kVectorsAtOnce) {
    const int64_t end = std::min(n, j + kernels::kVectorsAtOnce);
    for (int64_t c = j; c < end; ++c) {
      const Vector<T> column = a.col(first + c).from(first);
      y[c] += column[c] * x[c];
      for (int64_t r = c + 1; r < end; ++r) {
        y[r] += column[r] * x[c];
        y[c] += column[r] * x[r];
      }
    }
    if (end == n) break;
    kernels::multiply_both_ways(&a(first + end, first + j), a.col_step, x.data + j, x.data + end,
                                y.data + end, y.data + j, n - end);
  }
}

// y = A^T x of the last columns and rows, and z = A x of the last columns and all rows.
template <typename T>
void multiply_both_ways(const View<T>& a, Vector<T> x, Vector<T> y, Vector<T> z) {
  const int64_t n = x.size, first = a.rows() - n;
  fill(as_row(y), T(0));
  fill(as_row(z), T(0));
  int64_t j = 0;
  for (; j + kernels::kVectorsAtOnce <= n; j += kernels::kVectorsAtOnce) {
    kernels::multiply_both_ways(&a(first, first + j), a.col_step, x.data + j, x.data, &z[first],
                                y.data + j, n);
  }
  for (; j < n; ++j) {
    const Vector<T> column = a.col(first + j).from(first);
    add_scaled(x[j], column, z.from(first));
    y[j] = dot(column, x);
  }
  add_product<T>(as_row(x), a.block(0, first, first, n).transposed(), as_row(z.head(first)));
}

template <typename T>
void copy_vector(Vector<T> from, Vector<T> to, T factor) {
  for (int64_t i = 0; i < from.size; ++i) to[i] = factor * from[i];
}

template <typename T>
Band<T> bidiagonal_by_panels(const View<T>& a, const View<T>& rows) {
  const int64_t m = a.rows(), n = a.cols();
  const Changes<T> changes(m, n);
  const Columns<T>&p = changes.p, &q = changes.q;
  Band<T> band;
  for (int64_t first = 0, last; first < n; first = last) {
    last = std::min(n, first + kPanel);
    for (int64_t k = first; k < last; ++k) {
      poll();
      const int64_t known = 2 * (k - first);
      const Vector<T> column = a.col(k).from(k);
      changes.add_column(k, k, known, column);
      band.left.push_back(reflect(column, &band.diagonal));
      if (k + 1 == n) return band;
      const Vector<T> y = q.col(known).from(k + 1), x = p.col(known + 1).from(k + 1);
      fill(as_row(y), T(0));
      add_product<T>(as_row(column), a.block(k, k + 1, m - k, y.size), as_row(y));
      changes.add_product_with(q, p, known, column, y);
      scale(y, -band.left.back());
      copy_vector(column, p.col(known).from(k), T(1));

      const Vector<T> row = rows.col(k).from(k);
      copy_vector(a.row(k).from(k + 1), row, T(1));
      changes.add_row(k, k + 1, known + 1, row);
      band.right.push_back(reflect(row, &band.beside));
      fill(as_row(x), T(0));
      add_product<T>(as_row(row), a.block(k + 1, k + 1, x.size, y.size).transposed(), as_row(x));
      changes.add_product_with(p, q, known + 1, row, x);
      scale(x, -band.right.back());
      copy_vector(row, q.col(known + 1).from(k + 1), T(1));
    }
    add_product<T>(p.block(last, 0, m - last, 2 * kPanel),
                   q.block(last, 0, n - last, 2 * kPanel).transposed(),
                   a.block(last, last, m - last, n - last));
  }
  return band;
}

template <typename T>
Band<T> tridiagonal_by_panels(const View<T>& a) {
  const int64_t n = a.rows();
  const Changes<T> changes(n, n);
  const Columns<T>&p = changes.p, &q = changes.q;
  Band<T> band;
  for (int64_t first = 0, last; first < n; first = last) {
    last = std::min(n, first + kPanel);
    for (int64_t k = first; k < last; ++k) {
      poll();
      const int64_t known = 2 * (k - first);
      changes.add_column(k, k, known, a.col(k).from(k));
      band.diagonal.push_back(a(k, k));
      if (k + 1 == n) return band;
      const Vector<T> v = a.col(k).from(k + 1), w = p.col(known + 1).from(k + 1);
      const T tau = reflect(v, &band.beside);
      band.left.push_back(tau);
      multiply_symmetric(a, v, w);
      changes.add_product_with(p, q, known, v, w);
      scale(w, tau);
      add_scaled(T(-0.5) * tau * dot(v, w), v, w);
      // The reflection from both sides: a - v w^T - w v^T.
      copy_vector(v, p.col(known).from(k + 1), T(1));
      copy_vector(w, q.col(known).from(k + 1), T(-1));
      copy_vector(v, q.col(known + 1).from(k + 1), T(-1));
    }
    for (int64_t j = last, end; j < n; j = end) {
      end = std::min(n, j + kBlock);
      add_product<T>(p.block(j, 0, n - j, 2 * kPanel),
                     q.block(j, 0, end - j, 2 * kPanel).transposed(),
                     a.block(j, j, n - j, end - j));
    }
  }
  return band;
}

template <typename T>
std::vector<T> hessenberg_by_panels(const View<T>& a) {
  const int64_t n = a.rows();
  const Changes<T> changes(n, n);
  const Columns<T>&p = changes.p, &q = changes.q;
  std::vector<T> factors;
  std::vector<double> beta;
  for (int64_t first = 0, last; first + 1 < n; first = last) {
    last = std::min(n, first + kPanel);
    for (int64_t k = first; k < last; ++k) {
      poll();
      const int64_t known = 2 * (k - first);
      changes.add_column(0, k, known, a.col(k));
      if (k + 1 == n) break;
      const Vector<T> v = a.col(k).from(k + 1);
      const T tau = reflect(v, &beta);
      factors.push_back(tau);
      const Vector<T> y = q.col(known).from(k + 1), z = p.col(known + 1);
      multiply_both_ways(a, v, y, z);
      changes.add_product_with(q, p, known, v, y);
      changes.add_product_with(p, q, known, v, z);
      // The reflection from the left, then from the right: a - v y^T - z v^T.
      scale(y, -tau);
      scale(z, -tau);
      add_scaled(-tau * dot(y, v), v, z.from(k + 1));
      fill(as_row(p.col(known).head(k + 1)), T(0));
      copy_vector(v, p.col(known).from(k + 1), T(1));
      copy_vector(v, q.col(known + 1).from(k + 1), T(1));
      v[0] = static_cast<T>(beta.back());
    }
    add_product<T>(p, q.block(last, 0, n - last, 2 * kPanel).transposed(),
                   a.block(0, last, n, n - last));
  }
  return factors;
}

}  // namespace

template <typename T>
Band<T> to_bidiagonal(const View<T>& a, const View<T>& rows) {
  const int64_t m = a.rows(), n = a.cols();
  if constexpr (std::is_floating_point_v<T>) {
    if (n > kSmall) return bidiagonal_by_panels(a, rows);
  }
  Band<T> band;
  for (int64_t k = 0; k < n; ++k) {
    const Vector<T> column = a.col(k).from(k);
    band.left.push_back(reflect(column, &band.diagonal));
    reflect_rows(a.block(k, k + 1, m - k, n - k - 1), column, conjugate(band.left.back()));
    if (k + 1 == n) break;
    const Vector<T> row = rows.col(k).from(k);
    for (int64_t j = 0; j < row.size; ++j) row[j] = conjugate(a(k, k + 1 + j));
    band.right.push_back(reflect(row, &band.beside));
    reflect_cols(a.block(k + 1, k + 1, m - k - 1, n - k - 1), row, band.right.back());
  }
  return band;
}

template <typename T>
Band<T> to_tridiagonal(const View<T>& a) {
  if constexpr (std::is_floating_point_v<T>) {
    return tridiagonal_by_panels(a);
  } else {
    const int64_t n = a.rows();
    Band<T> band;
    for (int64_t k = 0; k < n; ++k) {
      band.diagonal.push_back(std::real(a(k, k)));
      if (k + 1 == n) break;
      const Vector<T> column = a.col(k).from(k + 1);
      band.left.push_back(reflect(column, &band.beside));
      reflect_both(a.block(k + 1, k + 1, n - k - 1, n - k - 1), column, band.left.back());
    }
    return band;
  }
}

template <typename T>
std::vector<T> to_hessenberg(const View<T>& a) {
  const int64_t n = a.rows();
  if constexpr (std::is_floating_point_v<T>) {
    if (n > kSmall) return hessenberg_by_panels(a);
  }
  std::vector<T> factors;
  for (int64_t k = 0; k + 1 < n; ++k) {
    const Vector<T> v = a.col(k).from(k + 1);
    std::vector<double> beta;
    const T tau = reflect(v, &beta);
    factors.push_back(tau);
    reflect_rows(a.block(k + 1, k + 1, n - k - 1, n - k - 1), v, conjugate(tau));
    reflect_cols(a.block(0, k + 1, n, n - k - 1), v, tau);
    v[0] = T(beta[0]);
  }
  return factors;
}

#define TORCHLET_REDUCTIONS(T)                                    \
  template Band<T> to_bidiagonal(const View<T>&, const View<T>&); \
  template Band<T> to_tridiagonal(const View<T>&);                \
  template std::vector<T> to_hessenberg(const View<T>&)
TORCHLET_REDUCTIONS(float);
TORCHLET_REDUCTIONS(double);
TORCHLET_REDUCTIONS(std::complex<double>);
#undef TORCHLET_REDUCTIONS

}  // namespace torchlet::ops::linalg
