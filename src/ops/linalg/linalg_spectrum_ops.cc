// Singular values and eigenvalues.
#include <cmath>
#include <complex>

#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/engines/matmul.h"
#include "ops/linalg/linalg.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

using linalg::Batch;

// ---- spectra of general matrices: the QR algorithm on the complex Hessenberg form ----

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

// Householder reflections that leave only one subdiagonal; q gathers them.
void to_hessenberg(const CView& a, const CView& q) {
  const int64_t n = a.rows();
  linalg::set_identity(q);
  for (int64_t k = 0; k + 2 < n; ++k) {
    const CMatrix column = linalg::copied(a.block(k + 1, k, n - k - 1, 1));
    const linalg::Vector<C> v = column.col(0);
    const double length = linalg::norm(v);
    if (length == 0 || linalg::norm(v.from(1)) == 0) continue;
    v[0] += std::abs(v[0]) == 0 ? C(length) : v[0] / std::abs(v[0]) * length;
    linalg::scale(v, C(1 / linalg::norm(v)));
    linalg::reflect_rows(a.block(k + 1, 0, n - k - 1, n), v, C(2));
    // From the right: the same with the transposed matrix and the conjugate vector.
    const CMatrix conjugate = linalg::adjoint_of<C>(column);
    for (const CView& m : {a, q}) {
      linalg::reflect_rows(m.block(0, k + 1, n, n - k - 1).transposed(), conjugate.row(0), C(2));
    }
  }
}

Eig eig(const Tensor& a) {
  linalg::check_square(a, "linalg.eig");
  const Batch<C> in(a), vectors(a.sizes());
  const Tensor values = empty(a.sizes().first(a.sizes().size() - 1), DType::kComplex128);
  const int64_t n = in.rows();
  for (int64_t b = 0; b < in.count(); ++b) {
    TORCHLET_CHECK(linalg::all_finite(in[b]),
                   "torch.linalg.eig: input tensor should not contain infs or NaNs.");
    const CView t = in[b];
    const CMatrix basis(n, n), turned(n, n);
    to_hessenberg(t, basis);
    schur(t, turned);
    const CMatrix q = linalg::product<C>(basis, turned);
    const double smallest_gap = 1e-14 * linalg::norm(t);
    for (int64_t j = 0; j < n; ++j) {
      values.data_ptr<C>()[b * n + j] = t(j, j);
      const CMatrix x(n, 1);  // of the triangular matrix
      x(j, 0) = 1;
      for (int64_t i = j; i-- > 0;) {
        C sum = t(i, j);
        for (int64_t k = i + 1; k < j; ++k) sum += t(i, k) * x(k, 0);
        C gap = t(i, i) - t(j, j);
        if (std::abs(gap) < smallest_gap) gap = smallest_gap;
        x(i, 0) = -sum / gap;
      }
      const CMatrix vector = linalg::product<C>(q, x);
      const linalg::Vector<C> v = vector.col(0);
      linalg::scale(v, C(1 / linalg::norm(v)));
      C largest;  // becomes real, as LAPACK has it
      for (int64_t i = 0; i < n; ++i) {
        if (std::abs(v[i]) > std::abs(largest)) largest = v[i];
      }
      linalg::scale(v, std::conj(largest) / std::abs(largest));
      linalg::copy<C>(vector, vectors[b].block(0, j, n, 1));
    }
  }
  const DType result =
      linalg::real_dtype(a.dtype()) == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
  return {values.to(result), vectors.to(result)};
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
              Eig result = eig(a);
              return std::tuple(result.values, result.vectors);
            });
TORCHLET_OP_WITH(linalg_eigvals, out("out"), "aten::linalg_eigvals(Tensor self) -> Tensor",
                 [](const Tensor& a) { return eig(a).values; });

}  // namespace torchlet::ops
