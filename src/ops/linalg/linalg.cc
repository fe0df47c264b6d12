#include "ops/linalg/linalg.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/function_ref.h"
#include "base/limits.h"
#include "base/sort.h"

namespace torchlet::ops::linalg {

void check_dtype(const Tensor& a, const char* name) {
  const DType dtype = a.dtype();
  TORCHLET_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
                     dtype == DType::kComplex64 || dtype == DType::kComplex128,
                 "%s: Expected a floating point or complex tensor as input. Got %s", name,
                 dtype_name(dtype).data());
}

void check_matrix(const Tensor& a, const char* name) {
  TORCHLET_CHECK(a.dim() >= 2, "%s: The input tensor A must have at least 2 dimensions.", name);
  check_dtype(a, name);
}

void check_square(const Tensor& a, const char* name) {
  check_matrix(a, name);
  TORCHLET_CHECK(a.size(-1) == a.size(-2),
                 "%s: A must be batches of square matrices, but they are %lld by %lld matrices",
                 name, static_cast<long long>(a.size(-2)), static_cast<long long>(a.size(-1)));
}

DType real_dtype(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  return dtype == DType::kComplex128 ? DType::kFloat64 : dtype;
}

Place place_of(const Tensor& matrices, int64_t i) {
  int64_t offset = 0;
  for (int64_t d = matrices.dim() - 3; d >= 0; i /= matrices.size(d--)) {
    offset += i % matrices.size(d) * matrices.stride(d);
  }
  offset *= static_cast<int64_t>(element_size(matrices.dtype()));
  return {static_cast<std::byte*>(matrices.raw_data()) + offset, matrices.size(-2),
          matrices.size(-1), matrices.stride(-2), matrices.stride(-1)};
}

int64_t count_of(const Tensor& matrices) {
  int64_t n = 1;
  for (int64_t d = matrices.dim() - 3; d >= 0; --d) n *= matrices.size(d);
  return n;
}

Tensor copied_batch(const Tensor& a, DType dtype) {
  const Tensor data = empty(a.sizes(), dtype);
  data.copy_(a);
  return data;
}

Tensor empty_batch(IntSpan batch, int64_t m, int64_t n, DType dtype) {
  IntArray sizes(batch);
  sizes.push_back(m);
  sizes.push_back(n);
  return empty(sizes, dtype);
}

IntArray batch_of(const Tensor& a, const Tensor& b) {
  return broadcast_shapes(a.sizes().first(a.sizes().size() - 2),
                          b.sizes().first(b.sizes().size() - 2));
}

Tensor expand_batch(const Tensor& a, IntSpan batch) {
  IntArray sizes(batch);
  sizes.push_back(a.size(-2));
  sizes.push_back(a.size(-1));
  return expand(a, sizes);
}

namespace {

constexpr double kEpsilon = 2.2e-16, kTiny = 1e-150;
constexpr int kMaxSteps = 60;  // for each value, of which two or three are usual

// The places of the values in ascending or descending order; equal ones stay in order.
std::vector<int64_t> sorted_places(const std::vector<double>& values, bool descending) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  stable_sort(order, [&](int64_t a, int64_t b) {
    const double x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return descending ? x > y : x < y;
  });
  return order;
}

// A matrix whose columns are contiguous.
template <typename T>
class Columns : public View<T> {
 public:
  Columns(int64_t rows, int64_t cols) : rows_of_(cols, rows) {
    static_cast<View<T>&>(*this) = rows_of_.transposed();
  }
  explicit Columns(const View<T>& a) : Columns(a.rows(), a.cols()) { copy<T>(a, *this); }

 private:
  Matrix<T> rows_of_;
};

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

// What a matrix is brought to by reflections from both sides: real, a diagonal and what is beside
// it. The factors of the reflections, whose vectors lie where the matrix was.
template <typename T>
struct Band {
  std::vector<double> diagonal, beside;
  std::vector<T> left, right;
};

// a = U B V^H with B upper bidiagonal and m >= n. The reflections of V lie in `rows`, [n - 1, n -
// 1].
template <typename T>
Band<T> to_bidiagonal(const View<T>& a, const View<T>& rows) {
  const int64_t m = a.rows(), n = a.cols();
  Band<T> band;
  const auto reflect = [](Vector<T> v, std::vector<double>* beta) {
    const T tau = make_reflection(v);
    beta->push_back(std::real(v[0]));
    v[0] = T(1);
    return tau;
  };
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

// a = Q T Q^H with T tridiagonal, of a Hermitian matrix.
template <typename T>
Band<T> to_tridiagonal(const View<T>& a) {
  const int64_t n = a.rows();
  Band<T> band;
  for (int64_t k = 0; k < n; ++k) {
    band.diagonal.push_back(std::real(a(k, k)));
    if (k + 1 == n) break;
    const Vector<T> column = a.col(k).from(k + 1);
    band.left.push_back(make_reflection(column));
    band.beside.push_back(std::real(column[0]));
    column[0] = T(1);
    reflect_both(a.block(k + 1, k + 1, n - k - 1, n - k - 1), column, band.left.back());
  }
  return band;
}

// q becomes the product of the reflections, the first of which leaves `first` rows alone, and q.
template <typename T>
void reflect(const View<T>& reflections, const std::vector<T>& tau, int64_t first,
             const View<T>& q) {
  if (q.rows() <= first) return;
  apply_reflections(reflections, tau.data(), false, q.block(first, 0, q.rows() - first, q.cols()));
}

// Turns columns k and k + 1 of singular or eigenvectors; does nothing if nobody wants them.
using TurnColumns = FunctionRef<void(size_t k, double c, double s)>;
template <typename T>
auto turning(const View<T>& m) {
  return [&m](size_t k, double c, double s) {
    const auto column = static_cast<int64_t>(k);
    if (m.rows() > 0) rotate(m.col(column), m.col(column + 1), c, s);
  };
}

// The rotation that brings (x, y) to (length, 0), for numbers of which the largest is about 1.
struct Turn {
  Turn(double x, double y) : length(std::sqrt(x * x + y * y)) {
    if (const double scale = 1 / length; length > kTiny) c = x * scale, s = y * scale;
  }
  double length, c = 1, s = 0;
};

// The eigenvalue of [a b; b c] that is nearer to c.
double last_eigenvalue(double a, double b, double c) {
  const double half = (a - c) / 2, root = std::sqrt(half * half + b * b);
  return root == 0 ? c : c - b * (b / (half + (half < 0 ? -root : root)));
}

// Makes what is beside the diagonal vanish by steps(low, high) over blocks where it does not.
template <typename Step>
void iterate(std::vector<double>& d, std::vector<double>& e, const char* name, const Step& step) {
  double size = 0;
  for (const double x : d) size = std::max(size, std::abs(x));
  for (const double x : e) size = std::max(size, std::abs(x));
  if (size == 0) return;
  for (double& x : d) x /= size;
  for (double& x : e) x /= size;
  int steps = 0;
  for (size_t high = d.empty() ? 0 : d.size() - 1; high > 0;) {
    size_t low = high;
    while (low > 0 && std::abs(e[low - 1]) > kEpsilon) --low;
    if (low == high) {
      --high;
      steps = 0;
      continue;
    }
    poll();
    TORCHLET_CHECK(++steps < kMaxSteps, "%s: the iteration did not converge", name);
    step(low, high);
  }
  for (double& x : d) x *= size;
}

// Singular values, whatever their signs, by implicit QR steps on B^T B (Golub and Kahan 1965).
void diagonalise_bidiagonal(std::vector<double>& d, std::vector<double>& e, TurnColumns turn_u,
                            TurnColumns turn_v) {
  iterate(d, e, "linalg.svd", [&](size_t low, size_t high) {
    // Without a shift where a value vanishes, which then goes to the end.
    bool shifted = true;
    for (size_t i = low; i <= high; ++i) shifted = shifted && std::abs(d[i]) > kEpsilon;
    double x = d[low], y = e[low];
    if (shifted) {
      const double before = high - 1 > low ? e[high - 2] : 0;
      x -= last_eigenvalue(d[high - 1] * d[high - 1] + before * before, d[high - 1] * e[high - 1],
                           d[high] * d[high] + e[high - 1] * e[high - 1]) /
           d[low];
    }
    for (size_t i = low; i < high; ++i) {
      const Turn right(x, y);
      if (i > low) e[i - 1] = right.length;
      x = right.c * d[i] + right.s * e[i];
      e[i] = right.c * e[i] - right.s * d[i];
      y = right.s * d[i + 1];
      d[i + 1] *= right.c;
      turn_v(i, right.c, right.s);
      const Turn left(x, y);
      d[i] = left.length;
      x = left.c * e[i] + left.s * d[i + 1];
      d[i + 1] = left.c * d[i + 1] - left.s * e[i];
      if (i + 1 < high) {
        y = left.s * e[i + 1];
        e[i + 1] *= left.c;
      }
      turn_u(i, left.c, left.s);
    }
    e[high - 1] = x;
  });
}

// Eigenvalues, by implicit QR steps.
void diagonalise_tridiagonal(std::vector<double>& d, std::vector<double>& e, TurnColumns turn_q) {
  iterate(d, e, "linalg.eigh", [&](size_t low, size_t high) {
    double x = d[low] - last_eigenvalue(d[high - 1], e[high - 1], d[high]), y = e[low];
    for (size_t i = low; i < high; ++i) {
      const Turn turn(x, y);
      if (i > low) e[i - 1] = turn.length;
      const double first = d[i], second = d[i + 1], c = turn.c, s = turn.s;
      const double both = 2 * c * s * e[i];
      d[i] = c * c * first + both + s * s * second;
      d[i + 1] = s * s * first - both + c * c * second;
      e[i] = c * s * (second - first) + (c * c - s * s) * e[i];
      x = e[i];
      if (i + 1 < high) {
        y = s * e[i + 1];
        e[i + 1] *= c;
      }
      turn_q(i, c, s);
    }
  });
}

}  // namespace

Svd svd(const Tensor& a, bool full_matrices, bool compute_uv) {
  return with_wide_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> in(a);
    const int64_t m = in.rows(), n = in.cols(), k = std::min(m, n);
    IntArray s_sizes(in.batch_sizes());
    s_sizes.push_back(k);
    const Tensor s = empty(s_sizes, DType::kFloat64);
    const Batch<T> u(in.batch_sizes(), m, full_matrices ? m : k);
    const Batch<T> vh(in.batch_sizes(), full_matrices ? n : k, n);
    for (int64_t i = 0; i < in.count(); ++i) {
      TORCHLET_CHECK(all_finite(in[i]),
                     "linalg.svd: The algorithm failed to converge because the input matrix "
                     "contained non-finite values.");
      // The taller way round, so that there are at least as many rows as columns.
      const bool wide = m < n;
      const int64_t tall = std::max(m, n), others = std::max<int64_t>(0, k - 1);
      const Columns<T> columns(tall, k), rows(others, others);
      if (wide && is_complex(a.dtype())) {
        copy<T>(adjoint_of(in[i]), columns);
      } else {
        copy<T>(wide ? in[i].transposed() : in[i], columns);
      }
      Band<T> band = to_bidiagonal<T>(columns, rows);
      const Columns<T> left(compute_uv ? tall : 0, full_matrices ? tall : k),
          right(compute_uv ? k : 0, k);
      set_identity<T>(left);
      set_identity<T>(right);
      // What is turned has no more than k rows; the reflections make the others.
      const View<T> top = left.block(0, 0, std::min(k, left.rows()), k);
      diagonalise_bidiagonal(band.diagonal, band.beside, turning(top), turning<T>(right));
      reflect<T>(columns, band.left, 0, left);
      reflect<T>(rows, band.right, 1, right);
      std::vector<double> values;
      for (const double x : band.diagonal) values.push_back(std::abs(x));
      const std::vector<int64_t> order = sorted_places(values, true);
      for (int64_t j = 0; j < left.cols(); ++j) {
        const int64_t from = j < k ? order[static_cast<size_t>(j)] : j;
        if (j < k) s.data_ptr<double>()[i * k + j] = values[static_cast<size_t>(from)];
        if (!compute_uv) continue;
        const View<T>&x = wide ? vh[i].transposed() : u[i], y = wide ? u[i] : vh[i].transposed();
        copy(left.block(0, from, tall, 1), x.block(0, j, tall, 1));
        if (j >= k) continue;
        copy(right.block(0, from, k, 1), y.block(0, j, k, 1));
        if (band.diagonal[static_cast<size_t>(from)] < 0) scale(y.col(j), T(-1));
      }
      if (compute_uv && is_complex(a.dtype())) copy<T>(adjoint_of(vh[i].transposed()), vh[i]);
    }
    Svd result{Tensor(), s.to(real_dtype(a.dtype())), Tensor()};
    if (compute_uv) {
      result.u = u.to(a.dtype());
      result.vh = vh.to(a.dtype());
    }
    return result;
  });
}

Eigh eigh(const Tensor& a, bool lower, bool compute_vectors) {
  return with_wide_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> in(a), out(a.sizes());
    const int64_t n = in.rows();
    const Tensor values = empty(a.sizes().first(a.sizes().size() - 1), DType::kFloat64);
    for (int64_t i = 0; i < in.count(); ++i) {
      // Only the triangle that was asked for counts.
      const Columns<T> hermitian(n, n), vectors(compute_vectors ? n : 0, n);
      for (int64_t r = 0; r < n; ++r) {
        hermitian(r, r) = T(std::real(in[i](r, r)));
        for (int64_t c = 0; c < r; ++c) {
          hermitian(r, c) = lower ? in[i](r, c) : conjugate(in[i](c, r));
          hermitian(c, r) = conjugate(hermitian(r, c));
        }
      }
      Band<T> band = to_tridiagonal<T>(hermitian);
      set_identity<T>(vectors);
      diagonalise_tridiagonal(band.diagonal, band.beside, turning<T>(vectors));
      const int64_t others = std::max<int64_t>(0, n - 1);
      reflect<T>(hermitian.block(n - others, 0, others, others), band.left, 1, vectors);
      const std::vector<int64_t> order = sorted_places(band.diagonal, false);
      for (int64_t j = 0; j < n; ++j) {
        const int64_t from = order[static_cast<size_t>(j)];
        values.data_ptr<double>()[i * n + j] = band.diagonal[static_cast<size_t>(from)];
        if (compute_vectors) copy(vectors.block(0, from, n, 1), out[i].block(0, j, n, 1));
      }
    }
    return Eigh{values.to(real_dtype(a.dtype())), compute_vectors ? out.to(a.dtype()) : Tensor()};
  });
}

Inverse inverse(const Tensor& a) {
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> in(a), out(a.sizes());
    const Tensor info = zeros(in.batch_sizes(), DType::kInt32);
    const int64_t n = in.rows();
    std::vector<int32_t> pivots(static_cast<size_t>(n));
    for (int64_t i = 0; i < in.count(); ++i) {
      info.data_ptr<int32_t>()[i] = factor_lu(in[i], pivots.data(), true);
      const View<T> x = out[i];
      set_identity(x);
      for (int64_t k = 0; k < n; ++k) swap(x.row(k), x.row(pivots[static_cast<size_t>(k)] - 1));
      solve_triangular(in[i], false, true, x);
      solve_triangular(in[i], true, false, x);
    }
    return Inverse{out.to(a.dtype()), info};
  });
}

void check_inexact(const Tensor& a, const char* name) {
  TORCHLET_CHECK(is_floating_point(a.dtype()) || is_complex(a.dtype()),
                 "%s: Expected a floating point or complex tensor as input. Got %s", name,
                 dtype_name(a.dtype()).data());
}

Tensor adjoint(const Tensor& a) {
  const Tensor view = transpose(a, -2, -1);
  return is_complex(a.dtype()) ? call("aten::conj_physical", "", {view}) : view;
}

Tensor call(const char* name, const char* overload, std::vector<Value> args) {
  const Operator* op = find_operator(name, overload);
  TORCHLET_ASSERT(op);
  std::vector<Value> results(op->schema.returns.size());
  op->call(args, results);
  return results[0].to_tensor();
}

}  // namespace torchlet::ops::linalg
