// Singular values and eigenvalues.
#include <algorithm>
#include <cmath>
#include <complex>

#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/engines/matmul.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/reductions.h"
#include "ops/linalg/schur.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

using linalg::Batch;

// ---- spectra of general matrices ----

using C = std::complex<double>;
using CView = linalg::View<C>;
using CMatrix = linalg::Matrix<C>;

struct Eig {
  Tensor values, vectors;
};

// (x, y) = (c x + s y, c y - conj(s) x)
void turn(linalg::Vector<C> x, linalg::Vector<C> y, double cosine, C sine) {
  poll();
  for (int64_t i = 0; i < x.size; ++i) {
    const C first = x[i], second = y[i];
    x[i] = cosine * first + linalg::times(sine, second);
    y[i] = cosine * second - linalg::times(std::conj(sine), first);
  }
}

// Brings a Hessenberg matrix to triangular form by shifted QR steps; q gathers the rotations.
void schur(const CView& a, const CView& q) {
  const int64_t n = a.rows();
  linalg::set_identity(q);
  const double scale = std::max(linalg::norm(a), 1e-300);
  for (int64_t high = n - 1, iteration = 0; high > 0;) {
    int64_t low = high;
    while (low > 0 && std::abs(a(low, low - 1)) > 1e-16 * scale) --low;
    if (low == high) {
      --high;
      iteration = 0;
      continue;
    }
    TORCHLET_CHECK(++iteration < 300, "linalg.eig: the iteration did not converge");
    // Wilkinson's shift: the eigenvalue of the last 2x2 block that is nearer to its corner.
    const C p = a(high - 1, high - 1), s = a(high, high), r = a(high, high - 1) * a(high - 1, high);
    const C half = (p - s) / 2.0, root = std::sqrt(half * half + r);
    C shift = s + half + (std::abs(half + root) < std::abs(half - root) ? root : -root);
    if (iteration % 20 == 0) shift += std::abs(a(high, high - 1));
    for (int64_t i = low; i <= high; ++i) a(i, i) -= shift;
    std::vector<std::pair<double, C>> turns;
    for (int64_t k = low; k < high; ++k) {  // R = G A
      const C x = a(k, k), y = a(k + 1, k);
      const double length = std::hypot(std::abs(x), std::abs(y));
      const double c = length == 0 ? 1 : std::abs(x) / length;
      const C phase = std::abs(x) == 0 ? C(1) : x / std::abs(x);
      const C sine = length == 0 ? C(0) : phase * std::conj(y) / length;
      turns.emplace_back(c, sine);
      turn(a.row(k), a.row(k + 1), c, sine);
    }
    for (int64_t k = low; k < high; ++k) {  // A = R G^H
      const auto [c, sine] = turns[static_cast<size_t>(k - low)];
      turn(a.col(k), a.col(k + 1), c, std::conj(sine));
      turn(q.col(k), q.col(k + 1), c, std::conj(sine));
    }
    for (int64_t i = low; i <= high; ++i) a(i, i) += shift;
  }
}

// The eigenvectors of a complex matrix in the columns of `vectors`; its values in `values`.
void complex_eig(const CView& t, C* values, const CView& vectors) {
  const int64_t n = t.rows(), others = std::max<int64_t>(0, n - 1);
  const linalg::Columns<C> reduced(t);
  const std::vector<C> tau = linalg::to_hessenberg<C>(reduced);
  const CMatrix basis(n, n), turned(n, n);
  linalg::set_identity(basis);
  linalg::apply_reflections<C>(reduced.block(n - others, 0, others, others), tau.data(), false,
                               basis.block(n - others, 0, others, n));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) t(i, j) = i > j + 1 ? C(0) : reduced(i, j);
  }
  schur(t, turned);
  const CMatrix q = linalg::product<C>(basis, turned);
  const double smallest_gap = 1e-14 * linalg::norm(t);
  for (int64_t j = 0; j < n; ++j) {
    values[j] = t(j, j);
    const CMatrix x(n, 1);  // of the triangular matrix
    x(j, 0) = 1;
    for (int64_t i = j; i-- > 0;) {
      C sum = t(i, j);
      for (int64_t k = i + 1; k < j; ++k) sum += t(i, k) * x(k, 0);
      C gap = t(i, i) - t(j, j);
      if (std::abs(gap) < smallest_gap) gap = smallest_gap;
      x(i, 0) = -sum / gap;
    }
    linalg::copy<C>(linalg::product<C>(q, x), vectors.block(0, j, n, 1));
  }
}

// A power of two for each row by which it is divided, and its column multiplied, so that both are
// about as large (LAPACK's gebal; Parlett and Reinsch, 1969).
template <typename T>
std::vector<double> balance(const linalg::View<T>& a) {
  const int64_t n = a.rows();
  std::vector<double> scales(static_cast<size_t>(n), 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (int64_t i = 0; i < n; ++i) {
      const double diagonal = std::norm(double{a(i, i)});
      double row = std::sqrt(std::max(0.0, linalg::squared_norm(a.row(i)) - diagonal));
      double column = std::sqrt(std::max(0.0, linalg::squared_norm(a.col(i)) - diagonal));
      if (row == 0 || column == 0) continue;
      const double both = row + column;
      double factor = 1;
      for (; column < row / 2; column *= 2, row /= 2) factor *= 2;
      for (; column >= 2 * row; column /= 2, row *= 2) factor /= 2;
      double& whole = scales[static_cast<size_t>(i)];
      if (row + column >= 0.95 * both || whole * factor > 1e30 || whole * factor < 1e-30) continue;
      changed = true;
      whole *= factor;
      linalg::scale(a.row(i), static_cast<T>(1 / factor));
      linalg::scale(a.col(i), static_cast<T>(factor));
    }
  }
  return scales;
}

// Of a real matrix, `vectors` being empty if nobody wants them.
template <typename T>
void real_eig(const linalg::View<T>& a, C* values, const CView& vectors) {
  const int64_t n = a.rows();
  const std::vector<double> scales = balance(a);
  const linalg::Matrix<T> q_rows(vectors.rows(), n);
  TORCHLET_CHECK(linalg::to_schur<T>(a, q_rows), "linalg.eig: the iteration did not converge");
  const std::vector<C> found = linalg::schur_values(a);
  std::ranges::copy(found, values);
  if (vectors.rows() == 0) return;
  const linalg::Matrix<T> rows = linalg::product<T>(linalg::schur_vectors(a), q_rows);
  for (int64_t j = 0; j < n; ++j) {
    const bool is_pair = values[j].imag() != 0;
    for (int64_t i = 0; i < n; ++i) {
      const double scale = scales[static_cast<size_t>(i)];
      const C x(scale * rows(j, i), is_pair ? scale * rows(j + 1, i) : 0);
      vectors(i, j) = x;
      if (is_pair) vectors(i, j + 1) = std::conj(x);
    }
    j += is_pair;
  }
}

// Makes each column as long as 1, and its largest number real, as LAPACK has it.
void normalise(const CView& vectors) {
  for (int64_t j = 0; j < vectors.cols(); ++j) {
    const linalg::Vector<C> v = vectors.col(j);
    C largest;
    for (int64_t i = 0; i < v.size; ++i) {
      if (std::norm(v[i]) > std::norm(largest)) largest = v[i];
    }
    linalg::scale(v, std::conj(largest) / (std::abs(largest) * linalg::norm(v)));
  }
}

// Rows from which on the QR algorithm goes on in float where the matrix is one.
constexpr int64_t kManyRows = 128;

Eig eig(const Tensor& a, bool compute_vectors) {
  linalg::check_square(a, "linalg.eig");
  const int64_t n = a.size(-1);
  const DType computed = is_complex(a.dtype())                           ? DType::kComplex128
                         : a.dtype() == DType::kFloat64 || n < kManyRows ? DType::kFloat64
                                                                         : DType::kFloat32;
  return linalg::with_type(computed, [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> in(a);
    const Batch<C> vectors(in.batch_sizes(), compute_vectors ? n : 0, n);
    const Tensor values = empty(a.sizes().first(a.sizes().size() - 1), DType::kComplex128);
    for (int64_t i = 0; i < in.count(); ++i) {
      TORCHLET_CHECK(linalg::all_finite(in[i]),
                     "torch.linalg.eig: input tensor should not contain infs or NaNs.");
      C* const found = values.data_ptr<C>() + i * n;
      if constexpr (std::is_floating_point_v<T>) {
        real_eig<T>(in[i], found, vectors[i]);
      } else {
        const CMatrix unwanted(compute_vectors ? 0 : n, n);
        complex_eig(in[i], found, compute_vectors ? vectors[i] : CView(unwanted));
      }
      normalise(vectors[i]);
    }
    const DType result =
        linalg::real_dtype(a.dtype()) == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
    return Eig{values.to(result), compute_vectors ? vectors.to(result) : Tensor()};
  });
}

bool is_lower(const std::string& uplo) {
  const char c = uplo.empty() ? '\0' : uplo[0];
  TORCHLET_CHECK(c == 'L' || c == 'l' || c == 'U' || c == 'u',
                 "Expected UPLO argument to be 'L' or 'U', but got %s", uplo.c_str());
  return c == 'L' || c == 'l';
}

}  // namespace

TORCHLET_OP(linalg_svd,
            "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor "
            "U, Tensor S, "
            "Tensor Vh)",
            [](const Tensor& a, bool full_matrices, const Value&) {
              linalg::check_matrix(a, "linalg.svd");
              linalg::Svd result = linalg::svd(a, full_matrices, true);
              return std::tuple(result.u, result.s, result.vh);
            });
TORCHLET_OP(linalg_svd_all,
            "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? "
            "driver=None) -> "
            "(Tensor U, Tensor S, Tensor Vh)",
            [](const Tensor& a, bool full_matrices, bool compute_uv, const Value&) {
              linalg::check_matrix(a, "linalg.svd");
              linalg::Svd result = linalg::svd(a, full_matrices, compute_uv);
              const Tensor none = empty(IntArray{0}, a.dtype());
              return std::tuple(compute_uv ? result.u : none, result.s,
                                compute_uv ? result.vh : none);
            });
TORCHLET_OP_WITH(linalg_svdvals, out("out"),
                 "aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
                 [](const Tensor& a, const Value&) {
                   linalg::check_matrix(a, "linalg.svdvals");
                   return linalg::svd(a, false, false).s;
                 });
TORCHLET_OP(svd,
            "aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, "
            "Tensor V)",
            [](const Tensor& a, bool some, bool compute_uv) {
              linalg::check_matrix(a, "svd");
              linalg::Svd result = linalg::svd(a, !some, true);
              if (!compute_uv) {
                result.u = zeros(result.u.sizes(), a.dtype());
                result.vh = zeros(result.vh.sizes(), a.dtype());
              }
              return std::tuple(result.u, result.s, linalg::adjoint(result.vh));
            });
TORCHLET_OP(
    linalg_eigh,
    "aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)",
    [](const Tensor& a, const std::string& uplo) {
      linalg::check_square(a, "linalg.eigh");
      linalg::Eigh result = linalg::eigh(a, is_lower(uplo), true);
      return std::tuple(result.values, result.vectors);
    });
TORCHLET_OP(linalg_eigh_all,
            "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor "
            "eigenvalues, Tensor "
            "eigenvectors)",
            [](const Tensor& a, const std::string& uplo, bool compute_v) {
              linalg::check_square(a, "linalg.eigh");
              linalg::Eigh result = linalg::eigh(a, is_lower(uplo), compute_v);
              return std::tuple(result.values,
                                compute_v ? result.vectors : empty(IntArray{0}, a.dtype()));
            });
TORCHLET_OP_WITH(linalg_eigvalsh, out("out"),
                 "aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor",
                 [](const Tensor& a, const std::string& uplo) {
                   linalg::check_square(a, "linalg.eigvalsh");
                   return linalg::eigh(a, is_lower(uplo), false).values;
                 });
TORCHLET_OP(symeig,
            "aten::symeig(Tensor self, bool eigenvectors=False, bool upper=True) -> (Tensor "
            "eigenvalues, Tensor "
            "eigenvectors)",
            [](const Tensor& a, bool eigenvectors, bool upper) {
              linalg::check_square(a, "symeig");
              linalg::Eigh result = linalg::eigh(a, !upper, eigenvectors);
              return std::tuple(result.values,
                                eigenvectors ? result.vectors : empty(IntArray{0}, a.dtype()));
            });
TORCHLET_OP(linalg_eig,
            "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
            [](const Tensor& a) {
              Eig result = eig(a, true);
              return std::tuple(result.values, result.vectors);
            });
TORCHLET_OP_WITH(linalg_eigvals, out("out"), "aten::linalg_eigvals(Tensor self) -> Tensor",
                 [](const Tensor& a) { return eig(a, false).values; });

}  // namespace torchlet::ops
