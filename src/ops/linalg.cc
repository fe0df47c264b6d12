#include "ops/linalg.h"

#include <Eigen/LU>
#include <cmath>
#include <numeric>

namespace torchlet::ops::linalg {

void check_dtype(const Tensor& a, const char* name) {
  const DType dtype = a.dtype();
  TORCHLET_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
                     dtype == DType::kComplex64 || dtype == DType::kComplex128,
                 "%s: Expected a floating point or complex tensor as input. Got %s", name,
                 std::string(dtype_name(dtype)).c_str());
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

template <typename T>
using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;  // column-major

constexpr int kMaxSweeps = 60;
constexpr double kEpsilon = 2.2e-16;

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
    phase = Eigen::numext::conj(coupling / T(size));
  }
  template <typename M>
  void turn_columns(M& m, int64_t p, int64_t q) const {
    for (int64_t i = 0; i < m.rows(); ++i) {
      const T x = m(i, p), y = m(i, q) * phase;
      m(i, p) = T(cosine) * x - T(sine) * y;
      m(i, q) = T(sine) * x + T(cosine) * y;
    }
  }
  double cosine, sine;
  T phase;
};

// Fills the columns of m from `known` on so that all are orthonormal.
template <typename T>
void complete_basis(Columns<T>& m, int64_t known) {
  int64_t candidate = 0;
  for (int64_t j = known; j < m.cols(); ++j) {
    for (;; ++candidate) {
      Eigen::Matrix<T, Eigen::Dynamic, 1> v =
          Eigen::Matrix<T, Eigen::Dynamic, 1>::Unit(m.rows(), candidate);
      for (int twice = 0; twice < 2; ++twice) {
        for (int64_t i = 0; i < j; ++i) v -= m.col(i) * m.col(i).dot(v);
      }
      if (v.norm() > 0.1 / std::sqrt(static_cast<double>(m.rows()))) {
        m.col(j) = v / v.norm();
        ++candidate;
        break;
      }
    }
  }
}

// One-sided Jacobi (Hestenes 1958) of m >= n: turns the columns of u until they are orthogonal.
// Returns the singular values, descending, with u [m, n] and v [n, n] ordered alike.
template <typename T>
std::vector<double> jacobi_svd(Columns<T>& u, Columns<T>& v) {
  const int64_t n = u.cols();
  v.setIdentity(n, n);
  bool turned = true;
  for (int sweep = 0; sweep < kMaxSweeps && turned; ++sweep) {
    turned = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const double alpha = u.col(p).squaredNorm(), beta = u.col(q).squaredNorm();
        const T coupling = u.col(p).dot(u.col(q));
        if (!(std::abs(coupling) > kEpsilon * std::sqrt(alpha * beta))) continue;
        const Rotation<T> rotation(alpha, beta, coupling);
        rotation.turn_columns(u, p, q);
        rotation.turn_columns(v, p, q);
        turned = true;
      }
    }
  }
  std::vector<double> norms;
  for (int64_t j = 0; j < n; ++j) norms.push_back(u.col(j).norm());
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](int64_t j) { return norms[static_cast<size_t>(j)]; });
  const Columns<T> old_u = u, old_v = v;
  std::vector<double> values;
  int64_t rank = 0;
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    values.push_back(norms[static_cast<size_t>(from)]);
    v.col(j) = old_v.col(from);
    if (values.back() > 0 && values.back() > kEpsilon * kEpsilon * values[0]) {
      u.col(j) = old_u.col(from) / values.back();
      rank = j + 1;
    }
  }
  complete_basis(u, rank);
  return values;
}

// Cyclic Jacobi of a Hermitian matrix: its diagonal becomes the eigenvalues.
template <typename T>
void jacobi_eigh(Columns<T>& a, Columns<T>& vectors) {
  const int64_t n = a.rows();
  vectors.setIdentity(n, n);
  bool turned = true;
  for (int sweep = 0; sweep < kMaxSweeps && turned; ++sweep) {
    turned = false;
    const double scale = a.norm();
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        if (!(std::abs(a(p, q)) > kEpsilon * scale * 1e-2)) continue;
        const Rotation<T> rotation(std::real(a(p, p)), std::real(a(q, q)), a(p, q));
        rotation.turn_columns(a, p, q);
        a.adjointInPlace();
        rotation.turn_columns(a, p, q);
        a.adjointInPlace();
        rotation.turn_columns(vectors, p, q);
        turned = true;
      }
    }
  }
}

}  // namespace

Svd svd(const Tensor& a, bool full_matrices, bool compute_uv) {
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> in(a);
    const int64_t m = in.rows(), n = in.cols(), k = std::min(m, n);
    IntArray s_sizes(in.batch_sizes());
    s_sizes.push_back(k);
    const Tensor s = empty(s_sizes, DType::kFloat64);
    const Batch<T> u(in.batch_sizes(), m, full_matrices ? m : k);
    const Batch<T> vh(in.batch_sizes(), full_matrices ? n : k, n);
    for (int64_t i = 0; i < in.count(); ++i) {
      TORCHLET_CHECK(in[i].allFinite(),
                     "linalg.svd: The algorithm failed to converge because the input matrix "
                     "contained non-finite values.");
      // The taller way round, so that there are at least as many rows as columns.
      const bool wide = m < n;
      Columns<T> left = wide ? Columns<T>(in[i].adjoint()) : Columns<T>(in[i]);
      Columns<T> right;
      const std::vector<double> values = jacobi_svd(left, right);
      std::copy(values.begin(), values.end(), s.data_ptr<double>() + i * k);
      if (!compute_uv) continue;
      if (full_matrices) {
        left.conservativeResize(Eigen::NoChange, left.rows());
        complete_basis(left, k);
      }
      u[i] = wide ? right : left;
      vh[i] = (wide ? left : right).adjoint();
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
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> in(a), out(a.sizes());
    const int64_t n = in.rows();
    const Tensor values = empty(a.sizes().first(a.sizes().size() - 1), DType::kFloat64);
    for (int64_t i = 0; i < in.count(); ++i) {
      // Only the triangle that was asked for counts.
      Columns<T> hermitian(n, n), vectors;
      for (int64_t r = 0; r < n; ++r) {
        hermitian(r, r) = T(std::real(in[i](r, r)));
        for (int64_t c = 0; c < r; ++c) {
          hermitian(r, c) = lower ? in[i](r, c) : Eigen::numext::conj(in[i](c, r));
          hermitian(c, r) = Eigen::numext::conj(hermitian(r, c));
        }
      }
      jacobi_eigh(hermitian, vectors);
      std::vector<int64_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, {}, [&](int64_t j) { return std::real(hermitian(j, j)); });
      for (int64_t j = 0; j < n; ++j) {
        const int64_t from = order[static_cast<size_t>(j)];
        values.data_ptr<double>()[i * n + j] = std::real(hermitian(from, from));
        out[i].col(j) = vectors.col(from);
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
    for (int64_t i = 0; i < in.count() && in.rows() > 0; ++i) {
      const Eigen::PartialPivLU<Matrix<T>> lu(in[i]);
      int32_t& place = info.data_ptr<int32_t>()[i];
      for (int64_t j = in.rows() - 1; j >= 0; --j) {
        if (lu.matrixLU()(j, j) == T(0)) place = static_cast<int32_t>(j + 1);
      }
      out[i] = lu.inverse();
    }
    return Inverse{out.to(a.dtype()), info};
  });
}

void check_inexact(const Tensor& a, const char* name) {
  TORCHLET_CHECK(is_floating_point(a.dtype()) || is_complex(a.dtype()),
                 "%s: Expected a floating point or complex tensor as input. Got %s", name,
                 std::string(dtype_name(a.dtype())).c_str());
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
