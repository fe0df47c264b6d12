#include "ops/linalg/linalg.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

constexpr int kMaxSweeps = 60;
constexpr double kEpsilon = 2.2e-16;

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

// Turns columns p and q by the angle that makes `coupling` zero, where the diagonal entries are
// alpha and beta.
template <typename T>
struct Rotation {
  Rotation(double alpha, double beta, T coupling) {
    const double size = std::abs(coupling);
    const double zeta = (beta - alpha) / (2 * size);
    const double t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
    cosine = 1 / std::sqrt(1 + t * t);
    sine = cosine * t;
    phase = conjugate(coupling / T(size));
  }
  void turn(Vector<T> p, Vector<T> q, T q_phase) const {
    for (int64_t i = 0; i < p.size; ++i) {
      const T x = p[i], y = times(q[i], q_phase);
      p[i] = cosine * x - sine * y;
      q[i] = sine * x + cosine * y;
    }
  }
  void turn_columns(const View<T>& m, int64_t p, int64_t q) const {
    turn(m.col(p), m.col(q), phase);
  }
  // Those of the adjoint.
  void turn_rows(const View<T>& m, int64_t p, int64_t q) const {
    turn(m.row(p), m.row(q), conjugate(phase));
  }
  double cosine, sine;
  T phase;
};

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

// Fills the columns of m from `known` on so that all are orthonormal.
template <typename T>
void complete_basis(const View<T>& m, int64_t known) {
  int64_t candidate = 0;
  for (int64_t j = known; j < m.cols(); ++j) {
    const Vector<T> v = m.col(j);
    const double enough = 0.1 / std::sqrt(static_cast<double>(m.rows()));
    for (double length = 0; length <= enough && candidate < m.rows(); ++candidate) {
      for (int64_t i = 0; i < m.rows(); ++i) v[i] = T(i == candidate);
      for (int twice = 0; twice < 2; ++twice) {
        for (int64_t i = 0; i < j; ++i) add_scaled(-dot(m.col(i), v), m.col(i), v);
      }
      length = norm(v);
      if (length > 0) scale(v, T(1 / length));
    }
  }
}

// One-sided Jacobi (Hestenes 1958) of m >= n: turns the columns of u until they are orthogonal.
// Returns the singular values, descending, with u [m, n] and v [n, n] ordered alike.
template <typename T>
std::vector<double> jacobi_svd(const View<T>& u, const View<T>& v) {
  const int64_t n = u.cols();
  set_identity(v);
  bool turned = true;
  for (int sweep = 0; sweep < kMaxSweeps && turned; ++sweep) {
    turned = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const double alpha = squared_norm(u.col(p)), beta = squared_norm(u.col(q));
        const T coupling = dot(u.col(p), u.col(q));
        if (!(std::abs(coupling) > kEpsilon * std::sqrt(alpha * beta))) continue;
        const Rotation<T> rotation(alpha, beta, coupling);
        rotation.turn_columns(u, p, q);
        rotation.turn_columns(v, p, q);
        turned = true;
      }
    }
  }
  std::vector<double> norms;
  for (int64_t j = 0; j < n; ++j) norms.push_back(norm(u.col(j)));
  const std::vector<int64_t> order = sorted_places(norms, true);
  const Columns<T> old_u(u), old_v(v);
  std::vector<double> values;
  int64_t rank = 0;
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    values.push_back(norms[static_cast<size_t>(from)]);
    copy(old_v.block(0, from, n, 1), v.block(0, j, n, 1));
    if (values.back() > 0 && values.back() > kEpsilon * kEpsilon * values[0]) {
      copy(old_u.block(0, from, u.rows(), 1), u.block(0, j, u.rows(), 1));
      scale(u.col(j), T(1 / values.back()));
      rank = j + 1;
    }
  }
  complete_basis(u, rank);
  return values;
}

// Cyclic Jacobi of a Hermitian matrix: its diagonal becomes the eigenvalues.
template <typename T>
void jacobi_eigh(const View<T>& a, const View<T>& vectors) {
  const int64_t n = a.rows();
  set_identity(vectors);
  bool turned = true;
  for (int sweep = 0; sweep < kMaxSweeps && turned; ++sweep) {
    turned = false;
    const double scale_of_a = norm(a);
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        poll();
        if (!(std::abs(a(p, q)) > kEpsilon * scale_of_a * 1e-2)) continue;
        const Rotation<T> rotation(std::real(a(p, p)), std::real(a(q, q)), a(p, q));
        rotation.turn_columns(a, p, q);
        rotation.turn_rows(a, p, q);
        rotation.turn_columns(vectors, p, q);
        turned = true;
      }
    }
  }
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
      const int64_t tall = std::max(m, n);
      const Columns<T> all(tall, compute_uv && full_matrices ? tall : k), right(k, k);
      const View<T> left = all.block(0, 0, tall, k);
      if (wide) {
        copy<T>(adjoint_of(in[i]), left);
      } else {
        copy(in[i], left);
      }
      const std::vector<double> values = jacobi_svd<T>(left, right);
      std::copy(values.begin(), values.end(), s.data_ptr<double>() + i * k);
      if (!compute_uv) continue;
      complete_basis<T>(all, k);
      copy<T>(wide ? right : all, u[i]);
      copy<T>(adjoint_of<T>(wide ? all : right), vh[i]);
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
      const Matrix<T> hermitian(n, n), vectors(n, n);
      for (int64_t r = 0; r < n; ++r) {
        hermitian(r, r) = T(std::real(in[i](r, r)));
        for (int64_t c = 0; c < r; ++c) {
          hermitian(r, c) = lower ? in[i](r, c) : conjugate(in[i](c, r));
          hermitian(c, r) = conjugate(hermitian(r, c));
        }
      }
      jacobi_eigh<T>(hermitian, vectors);
      std::vector<double> found;
      for (int64_t j = 0; j < n; ++j) found.push_back(std::real(hermitian(j, j)));
      const std::vector<int64_t> order = sorted_places(found, false);
      for (int64_t j = 0; j < n; ++j) {
        const int64_t from = order[static_cast<size_t>(j)];
        values.data_ptr<double>()[i * n + j] = found[static_cast<size_t>(from)];
        copy(vectors.block(0, from, n, 1), out[i].block(0, j, n, 1));
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
