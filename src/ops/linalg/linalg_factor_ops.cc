// LU, Cholesky and QR factorisations, and what is solved with them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/linalg/linalg.h"

namespace torchlet::ops {
namespace {

using linalg::adjoint;
using linalg::Batch;
using linalg::check_info;
using linalg::checked_pivots;
using linalg::Given;
using linalg::int_batch;
using linalg::kSingular;
using linalg::View;
using linalg::with_type;

// ---- LU ----

struct Lu {
  Tensor lu, pivots, info;  // info: 1-based position of the first zero on the diagonal of U, else 0
};

Lu lu_factor(const Tensor& a, bool pivot) {
  linalg::check_matrix(a, "torch.lu_factor");
  const int64_t k = std::min(a.size(-1), a.size(-2));
  return with_type(a.dtype(), [&](auto zero) {
    const Batch<decltype(zero)> lu(a);
    const Tensor pivots = int_batch(a, IntArray{k}), info = int_batch(a);
    for (int64_t i = 0; i < lu.count(); ++i) {
      info.data_ptr<int32_t>()[i] =
          linalg::factor_lu(lu[i], pivots.data_ptr<int32_t>() + i * k, pivot);
    }
    return Lu{lu.to(a.dtype()), pivots, info};
  });
}

std::tuple<Tensor, Tensor> lu_factor_checked(const Tensor& a, bool pivot) {
  const Lu lu = lu_factor(a, pivot);
  return {lu.lu, lu.pivots};
}

// The upper or lower triangle of `from`, zeros elsewhere; ones on the diagonal if `unit`.
template <typename T>
void copy_triangle(const View<T>& from, bool upper, bool unit, const View<T>& to) {
  for (int64_t i = 0; i < to.rows(); ++i) {
    for (int64_t j = 0; j < to.cols(); ++j) {
      to(i, j) = i == j && unit ? T(1) : (upper ? j < i : j > i) ? T(0) : from(i, j);
    }
  }
}

// The rows of the identity, exchanged in the order of the pivots: P with A = P L U.
Tensor permutation(const Tensor& pivots, int64_t rows, DType dtype) {
  IntArray sizes(pivots.sizes());
  const int64_t count = sizes.back();
  sizes.back() = rows;
  const Tensor order = empty(sizes, DType::kInt64);
  for (int64_t i = 0; rows > 0 && i < order.numel() / rows; ++i) {
    int64_t* const places = order.data_ptr<int64_t>() + i * rows;
    const int32_t* const exchanges = pivots.data_ptr<int32_t>() + i * count;
    std::iota(places, places + rows, 0);
    for (int64_t k = 0; k < count; ++k) std::swap(places[k], places[exchanges[k] - 1]);
  }
  sizes.push_back(rows);
  return linalg::call("aten::scatter", "value", {zeros(sizes, dtype), -2, unsqueeze(order, -2), 1});
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots,
                                             bool unpack_data, bool unpack_pivots) {
  TORCHLET_CHECK(lu.dim() >= 2, "torch.lu_unpack: Expected tensor with 2 or more dimensions.");
  const int64_t m = lu.size(-2), k = std::min(m, lu.size(-1));
  const Tensor none = empty(IntArray{0}, lu.dtype());
  std::tuple<Tensor, Tensor, Tensor> result{none, none, none};
  if (unpack_pivots) {
    const IntArray batch(lu.sizes().first(lu.sizes().size() - 2));
    std::get<0>(result) =
        permutation(checked_pivots(pivots, batch, k, m, false, "lu_unpack"), m, lu.dtype());
  }
  if (unpack_data) {
    const Tensor l = linalg::call("aten::tril", "", {narrow(lu, -1, 0, k), -1});
    fill(linalg::call("aten::diagonal", "", {l, 0, -2, -1}), 1);
    std::get<1>(result) = l;
    std::get<2>(result) = linalg::call("aten::triu", "", {narrow(lu, -2, 0, k), 0});
  }
  return result;
}

std::tuple<Tensor, Tensor, Tensor> lu(const Tensor& a, bool pivot) {
  const Lu factors = lu_factor(a, pivot);
  auto [p, l, u] = lu_unpack(factors.lu, factors.pivots, true, pivot);
  return {p, l, u};
}

// X of A X = B (A^H X = B if adjoint), with A factored.
Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left,
                bool use_adjoint) {
  if (!left) {  // X A = B  <=>  A^H X^H = B^H
    return adjoint(lu_solve(lu, pivots, adjoint(b), true, !use_adjoint));
  }
  linalg::check_square(lu, "torch.linalg.lu_solve");
  const IntArray batch = linalg::batch_of(lu, b);
  TORCHLET_CHECK(lu.size(-1) == b.size(-2), "lu_solve: Incompatible shapes of A and B: %s and %s",
                 lu.describe().c_str(), b.describe().c_str());
  const Tensor all_pivots =
      checked_pivots(pivots, batch, lu.size(-1), lu.size(-1), false, "lu_solve");
  return with_type(lu.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Given<T> factors(linalg::expand_batch(use_adjoint ? adjoint(lu) : lu, batch));
    const Batch<T> x(linalg::expand_batch(b, batch));
    const int64_t n = x.rows();
    for (int64_t i = 0; i < x.count(); ++i) {
      const int32_t* swaps = all_pivots.data_ptr<int32_t>() + i * n;
      const View<T> target = x[i];
      for (int64_t k = 0; k < n && !use_adjoint; ++k) {
        linalg::swap(target.row(k), target.row(swaps[k] - 1));
      }
      linalg::solve_triangular(factors[i], false, !use_adjoint, target);
      linalg::solve_triangular(factors[i], true, use_adjoint, target);
      for (int64_t k = n; use_adjoint && k-- > 0;) {
        linalg::swap(target.row(k), target.row(swaps[k] - 1));
      }
    }
    return x.to(lu.dtype());
  });
}

// ---- solve ----

struct Solution {
  Tensor x, lu, pivots, info;
};

Solution solve(const Tensor& a, const Tensor& b, bool left, bool check) {
  linalg::check_square(a, "linalg.solve");
  TORCHLET_CHECK(a.dtype() == b.dtype(),
                 "linalg.solve: Expected A and B to have the same dtype, got %s and %s",
                 a.describe().c_str(), b.describe().c_str());
  // numpy's rule: B is a batch of vectors if it has one dimension, or one less than A and its batch
  // shape.
  const bool vectors =
      b.dim() == 1 || (a.dim() - 1 == b.dim() &&
                       std::ranges::equal(b.sizes(), a.sizes().first(a.sizes().size() - 1)));
  TORCHLET_CHECK(left || !vectors,
                 "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                 "left=False.");
  const Tensor rhs = vectors ? unsqueeze(b, -1) : b;
  TORCHLET_CHECK(a.size(-1) == rhs.size(left ? -2 : -1),
                 "linalg.solve: Incompatible shapes of A and B: %s and %s", a.describe().c_str(),
                 b.describe().c_str());
  const Lu lu = lu_factor(a, true);
  if (check) check_info(lu.info, kSingular);
  const Tensor x = lu_solve(lu.lu, lu.pivots, rhs, left, false);
  return {vectors ? squeeze(x, -1) : x, lu.lu, lu.pivots, lu.info};
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
  linalg::check_square(a, "linalg.solve_triangular");
  if (!left) {  // X A = B  <=>  A^T X^T = B^T
    return transpose(
        solve_triangular(transpose(a, -2, -1), transpose(b, -2, -1), !upper, true, unit), -2, -1);
  }
  TORCHLET_CHECK(a.size(-1) == b.size(-2),
                 "linalg.solve_triangular: Incompatible shapes of A and B: %s and %s",
                 a.describe().c_str(), b.describe().c_str());
  const IntArray batch = linalg::batch_of(a, b);
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Given<T> factors(linalg::expand_batch(a, batch));
    const Batch<T> x(linalg::expand_batch(b, batch));
    for (int64_t i = 0; i < x.count(); ++i) {
      linalg::solve_triangular(factors[i], upper, unit, x[i]);
    }
    return x.to(a.dtype());
  });
}

// ---- Cholesky ----

constexpr char kNotPositive[] =
    "linalg.cholesky: The factorization could not be completed because the input is not "
    "positive-definite";

struct CholeskyFactor {
  Tensor l, info;
};

CholeskyFactor cholesky(const Tensor& a, bool upper) {
  linalg::check_square(a, "linalg.cholesky");
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> out(upper ? adjoint(a) : a);  // only one triangle is read
    const Tensor info = int_batch(a);
    for (int64_t i = 0; i < out.count(); ++i) {
      const View<T> l = out[i];
      info.data_ptr<int32_t>()[i] = linalg::factor_cholesky(l);
      for (int64_t r = 0; r < l.rows(); ++r) std::fill_n(&l(r, 0) + r + 1, l.cols() - r - 1, T(0));
      if (upper) linalg::copy<T>(linalg::adjoint_of(l), l);
    }
    return CholeskyFactor{out.to(a.dtype()), info};
  });
}

Tensor cholesky_checked(const Tensor& a, bool upper) {
  const CholeskyFactor factor = cholesky(a, upper);
  check_info(factor.info, kNotPositive);
  return factor.l;
}

Tensor cholesky_solve(const Tensor& b, const Tensor& l, bool upper) {
  TORCHLET_CHECK(b.dim() >= 2 && l.dim() >= 2, "b should have at least 2 dimensions");
  const Tensor lower = upper ? adjoint(l) : l;
  return solve_triangular(adjoint(lower), solve_triangular(lower, b, false, true, false), true,
                          true, false);
}

// ---- QR ----

// Householder vectors below R and their factors, as LAPACK's geqrf.
std::tuple<Tensor, Tensor> geqrf(const Tensor& a) {
  linalg::check_matrix(a, "torch.geqrf");
  IntArray tau_sizes(a.sizes().first(a.sizes().size() - 2));
  const int64_t k = std::min(a.size(-1), a.size(-2));
  tau_sizes.push_back(k);
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> out(a);
    const Tensor tau = empty(tau_sizes, DTypeOf<T>::value);
    for (int64_t i = 0; i < out.count(); ++i) {
      linalg::factor_qr(out[i], tau.data_ptr<T>() + i * k);
    }
    return std::tuple(out.to(a.dtype()), tau.to(a.dtype()));
  });
}

// The first columns of the product of the reflections I - tau v v^H.
Tensor householder_product(const Tensor& a, const Tensor& tau) {
  linalg::check_matrix(a, "torch.linalg.householder_product");
  TORCHLET_CHECK(
      a.size(-2) >= a.size(-1) && a.size(-1) >= tau.size(-1),
      "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
      "input.shape[-1], and that to tau.shape[-1]");
  TORCHLET_CHECK(
      tau.dim() == a.dim() - 1 && std::ranges::equal(tau.sizes().first(tau.sizes().size() - 1),
                                                     a.sizes().first(a.sizes().size() - 2)),
      "torch.linalg.householder_product: expected tau for each matrix of %s, got %s",
      a.describe().c_str(), tau.describe().c_str());
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Given<T> in(a);
    const Batch<T> out(a.sizes());
    const Tensor factors = tau.to(DTypeOf<T>::value).contiguous();
    const int64_t k = tau.size(-1), m = out.rows();
    for (int64_t i = 0; i < out.count(); ++i) {
      linalg::set_identity(out[i]);
      constexpr int64_t kStep = linalg::kReflections;
      for (int64_t j = (k + kStep - 1) / kStep * kStep; (j -= kStep) >= 0;) {  // columns before: I
        linalg::apply_reflections(in[i].block(j, j, m - j, std::min(kStep, k - j)),
                                  factors.data_ptr<T>() + i * k + j, false,
                                  out[i].block(j, j, m - j, out.cols() - j));
      }
    }
    return out.to(a.dtype());
  });
}

std::tuple<Tensor, Tensor> qr(const Tensor& a, const std::string& mode) {
  TORCHLET_CHECK(mode == "reduced" || mode == "complete" || mode == "r",
                 "qr received unrecognized mode '%s' but expected one of 'reduced' (default), 'r', "
                 "or 'complete'",
                 mode.c_str());
  Tensor packed, tau;
  std::tie(packed, tau) = geqrf(a);  // clang 14 captures no structured bindings
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const int64_t columns = mode == "complete" ? m : k;
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Given<T> in(packed);
    const IntArray batch(a.sizes().first(a.sizes().size() - 2));
    const Batch<T> reflectors(batch, m, columns), r(batch, columns, n);
    for (int64_t i = 0; i < r.count(); ++i) {
      linalg::fill(reflectors[i], T(0));
      linalg::copy(in[i], reflectors[i].block(0, 0, m, k));
      linalg::fill(r[i], T(0));
      copy_triangle(in[i], true, false, r[i].block(0, 0, k, n));
    }
    const Tensor q = mode == "r" ? empty(IntArray{0}, a.dtype())
                                 : householder_product(reflectors.tensor(), tau).to(a.dtype());
    return std::tuple(q, r.to(a.dtype()));
  });
}

}  // namespace

TORCHLET_OP(linalg_lu_factor_ex,
            "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> "
            "(Tensor LU, Tensor "
            "pivots, Tensor info)",
            [](const Tensor& a, bool pivot, bool check) {
              const Lu result = lu_factor(a, pivot);
              if (check) check_info(result.info, kSingular);
              return std::tuple(result.lu, result.pivots, result.info);
            });
TORCHLET_OP(linalg_lu_factor,
            "aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
            lu_factor_checked);
TORCHLET_OP(lu_with_info,
            "aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor "
            "LU, Tensor pivots, "
            "Tensor info)",
            [](const Tensor& a, bool pivot, bool check) {
              const Lu result = lu_factor(a, pivot);
              if (check) check_info(result.info, kSingular);
              return std::tuple(result.lu, result.pivots, result.info);
            });
TORCHLET_OP(linalg_lu,
            "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", lu);
TORCHLET_OP(lu_unpack,
            "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool "
            "unpack_pivots=True) -> "
            "(Tensor P, Tensor L, Tensor U)",
            lu_unpack);
TORCHLET_OP(linalg_lu_solve,
            "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool "
            "adjoint=False) -> "
            "Tensor",
            lu_solve);
TORCHLET_OP(lu_solve, "aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
            [](const Tensor& b, const Tensor& lu, const Tensor& pivots) {
              return lu_solve(lu, pivots, b, true, false);
            });
TORCHLET_OP(linalg_solve, "aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
            [](const Tensor& a, const Tensor& b, bool left) { return solve(a, b, left, true).x; });
TORCHLET_OP(linalg_solve_ex,
            "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
            "-> (Tensor "
            "result, Tensor info)",
            [](const Tensor& a, const Tensor& b, bool left, bool check) {
              const Solution result = solve(a, b, left, check);
              return std::tuple(result.x, result.info);
            });
TORCHLET_OP(linalg_solve_ex_all,
            "aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool "
            "check_errors=False) -> (Tensor "
            "result, Tensor LU, Tensor pivots, Tensor info)",
            [](const Tensor& a, const Tensor& b, bool left, bool check) {
              const Solution result = solve(a, b, left, check);
              return std::tuple(result.x, result.lu, result.pivots, result.info);
            });
TORCHLET_OP(
    linalg_solve_triangular,
    "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
    "unitriangular=False) -> Tensor",
    solve_triangular);
TORCHLET_OP(
    triangular_solve,
    "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
    "unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    [](const Tensor& b, const Tensor& a, bool upper, bool transposed, bool unit) {
      const Tensor x = transposed ? solve_triangular(transpose(a, -2, -1), b, !upper, true, unit)
                                  : solve_triangular(a, b, upper, true, unit);
      return std::tuple(x, linalg::expand_batch(a, linalg::batch_of(a, b)).clone());
    });
TORCHLET_OP(cholesky, "aten::cholesky(Tensor self, bool upper=False) -> Tensor", cholesky_checked);
TORCHLET_OP(linalg_cholesky, "aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
            cholesky_checked);
TORCHLET_OP(linalg_cholesky_ex,
            "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) "
            "-> (Tensor L, "
            "Tensor info)",
            [](const Tensor& a, bool upper, bool check) {
              const CholeskyFactor factor = cholesky(a, upper);
              if (check) check_info(factor.info, kNotPositive);
              return std::tuple(factor.l, factor.info);
            });
TORCHLET_OP(cholesky_solve,
            "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
            cholesky_solve);
TORCHLET_OP(geqrf, "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", geqrf);
TORCHLET_OP(linalg_householder_product,
            "aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
            householder_product);
TORCHLET_OP(orgqr, "aten::orgqr(Tensor self, Tensor input2) -> Tensor", householder_product);
TORCHLET_OP(linalg_qr, "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
            qr);
TORCHLET_OP(qr, "aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
            [](const Tensor& a, bool some) { return qr(a, some ? "reduced" : "complete"); });
}  // namespace torchlet::ops
