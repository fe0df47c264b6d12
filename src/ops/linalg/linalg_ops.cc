// Determinants, inverses, ranks and least squares.
#include <cmath>
#include <complex>

#include "ops/core/op.h"
#include "ops/engines/matmul.h"
#include "ops/linalg/linalg.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

using linalg::adjoint;
using linalg::Batch;
using linalg::call;
using linalg::with_type;
using OptDouble = std::optional<double>;

// ---- determinants ----

struct SignAndLog {
  Tensor sign, log_abs;  // in the compute type, and in double
  Tensor lu, pivots;
};

SignAndLog wide_slogdet(const Tensor& a) {
  linalg::check_square(a, "linalg.slogdet");
  const Operator* factor = find_operator("aten::linalg_lu_factor_ex", "");
  Value args[] = {Value(a), Value(true), Value(false)}, results[3];
  factor->call(args, results);
  const Tensor lu = results[0].to_tensor(), pivots = results[1].to_tensor();
  const IntSpan batch = a.sizes().first(a.sizes().size() - 2);
  const int64_t n = a.size(-1);
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const linalg::Given<T> factors(lu);
    const Tensor sign = empty(batch, DTypeOf<T>::value), log_abs = empty(batch, DType::kFloat64);
    for (int64_t i = 0; i < log_abs.numel(); ++i) {
      const linalg::View<T> u = factors[i];
      T s(1);
      double log_sum = 0;
      for (int64_t j = 0; j < n; ++j) {
        if (pivots.data_ptr<int32_t>()[i * n + j] != j + 1) s = -s;
        const T d = u(j, j);
        const double size = std::abs(d);
        s *= size == 0 ? T(0) : d / T(size);
        log_sum += std::log(size);
      }
      sign.data_ptr<T>()[i] = s;
      log_abs.data_ptr<double>()[i] = log_sum;
    }
    return SignAndLog{sign, log_abs, lu, pivots};
  });
}

SignAndLog slogdet(const Tensor& a) {
  SignAndLog parts = wide_slogdet(a);
  parts.sign = parts.sign.to(a.dtype());
  parts.log_abs = parts.log_abs.to(linalg::real_dtype(a.dtype()));
  return parts;
}

Tensor product_of(const SignAndLog& parts, DType dtype) {
  return mul(parts.sign, exp(parts.log_abs)).to(dtype);
}

Tensor det(const Tensor& a) { return product_of(wide_slogdet(a), a.dtype()); }

Tensor logdet(const Tensor& a) {
  const SignAndLog parts = slogdet(a);
  if (is_complex(a.dtype())) return add(call("aten::log", "", {parts.sign}), parts.log_abs);
  return add(log(parts.sign), parts.log_abs);  // NaN for a negative determinant
}

// ---- inverses ----

std::tuple<Tensor, Tensor> inv_ex(const Tensor& a, bool check_errors) {
  linalg::check_square(a, "linalg.inv");
  const linalg::Inverse result = linalg::inverse(a);
  const int32_t* info = result.info.data_ptr<int32_t>();
  for (int64_t i = 0; check_errors && i < result.info.numel(); ++i) {
    TORCHLET_CHECK(info[i] == 0,
                   "linalg.inv: The diagonal element %d is zero, the inversion could not be "
                   "completed because the input matrix is singular.",
                   info[i]);
  }
  return {result.inverse, result.info};
}

Tensor inv(const Tensor& a) { return std::get<0>(inv_ex(a, true)); }

Tensor largest(const Tensor& s) { return amax(s, IntArray{-1}, true); }  // [..., k] -> [..., 1]

// Singular values below max(atol, rtol * largest) count as zero.
Tensor threshold(const Tensor& s, const Tensor& atol, const Tensor& rtol) {
  return maximum(
      atol.dim() < s.dim() && atol.dim() > 0 ? unsqueeze(atol, -1) : atol,
      mul(rtol.dim() < s.dim() && rtol.dim() > 0 ? unsqueeze(rtol, -1) : rtol, largest(s)));
}

double default_rtol(const Tensor& a) {
  const double epsilon = linalg::real_dtype(a.dtype()) == DType::kFloat64 ? 2.220446049250313e-16
                                                                          : 1.1920928955078125e-07;
  return epsilon * static_cast<double>(std::max(a.size(-1), a.size(-2)));
}

// The defaults of torch.linalg: rtol counts only if atol was not given.
struct Tolerances {
  Tensor atol, rtol;
};
Tolerances tolerances(const Tensor& a, const Tensor& atol, const Tensor& rtol) {
  const DType real = linalg::real_dtype(a.dtype());
  Tolerances result;
  result.atol = atol.defined() ? atol.to(real) : full({}, Scalar(0.0), real);
  if (rtol.defined()) {
    result.rtol = rtol.to(real);
  } else {
    const Tensor usual = full({}, Scalar(default_rtol(a)), real);
    const Tensor none = full({}, Scalar(0.0), real);
    result.rtol =
        atol.defined() ? where(call("aten::gt", "Scalar", {result.atol, 0.0}), none, usual) : usual;
  }
  return result;
}
Tensor optional_scalar(OptDouble value) {
  return value ? full({}, Scalar(*value), DType::kFloat64) : Tensor();
}

// |eigenvalues| or singular values.
Tensor spectrum(const Tensor& a, bool hermitian) {
  return hermitian ? abs(linalg::eigh(a, true, false).values) : linalg::svd(a, false, false).s;
}

Tensor matrix_rank(const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  linalg::check_matrix(a, "torch.linalg.matrix_rank");
  if (hermitian) linalg::check_square(a, "torch.linalg.matrix_rank");
  const Tolerances limits = tolerances(a, atol, rtol);
  const Tensor s = spectrum(a, hermitian);
  if (a.numel() == 0) return zeros(a.sizes().first(a.sizes().size() - 2), DType::kInt64);
  const Tensor above = call("aten::gt", "Tensor", {s, threshold(s, limits.atol, limits.rtol)});
  return sum(above, IntArray{-1});
}

Tensor pinv(const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  linalg::check_matrix(a, "linalg.pinv");
  if (hermitian) linalg::check_square(a, "linalg.pinv");
  if (a.numel() == 0) return empty(transpose(a, -2, -1).sizes(), a.dtype());
  const Tolerances limits = tolerances(a, atol, rtol);
  if (hermitian) {  // V diag(1 / lambda) V^H, reading the lower triangle only
    const linalg::Eigh eigh = linalg::eigh(a, true, true);
    const Tensor sizes = abs(eigh.values);
    const Tensor keep =
        call("aten::gt", "Tensor", {sizes, threshold(sizes, limits.atol, limits.rtol)});
    const Tensor none = full({}, Scalar(0.0), sizes.dtype());
    const Tensor inverse = where(keep, call("aten::reciprocal", "", {eigh.values}), none);
    return matmul(mul(eigh.vectors, unsqueeze(inverse, -2)), adjoint(eigh.vectors));
  }
  const linalg::Svd svd = linalg::svd(a, false, true);
  const Tensor keep =
      call("aten::gt", "Tensor", {svd.s, threshold(svd.s, limits.atol, limits.rtol)});
  const Tensor zero = full({}, Scalar(0.0), svd.s.dtype());
  const Tensor inverse = where(keep, call("aten::reciprocal", "", {svd.s}), zero);
  return matmul(mul(adjoint(svd.vh), unsqueeze(inverse, -2)), adjoint(svd.u));
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper) {
  return call("aten::linalg_solve_triangular", "", {a, b, upper, true, false});
}

// A block of a matrix cut into halves both ways.
Tensor quarter(const Tensor& a, bool below, bool right) {
  const int64_t n = a.size(-1), half = n / 2, rest = n - half;
  return narrow(narrow(a, -2, below ? half : 0, below ? rest : half), -1, right ? half : 0,
                right ? rest : half);
}

// L^-1 in the place of a lower triangle with zeros beside it.
void invert_lower(const Tensor& l) {
  constexpr int64_t kSmall = 64;
  if (l.size(-1) <= kSmall) {
    const Tensor identity = zeros(l.sizes(), l.dtype());
    fill(call("aten::diagonal", "", {identity, 0, -2, -1}), Scalar(1));
    l.copy_(solve_triangular(l, identity, false));
    return;
  }
  const Tensor first = quarter(l, false, false), below = quarter(l, true, false),
               last = quarter(l, true, true);
  const Tensor share = solve_triangular(last, below, false);
  invert_lower(first);
  invert_lower(last);
  below.copy_(neg(matmul(share, first)));
}

// L^H L in the place of a lower triangle with zeros beside it.
void multiply_adjoint(const Tensor& l) {
  constexpr int64_t kSmall = 128;
  if (l.size(-1) <= kSmall) {
    l.copy_(matmul(adjoint(l), l));
    return;
  }
  const Tensor first = quarter(l, false, false), below = quarter(l, true, false),
               last = quarter(l, true, true);
  const Tensor beside = matmul(adjoint(last), below), share = matmul(adjoint(below), below);
  multiply_adjoint(first);
  multiply_adjoint(last);
  first.copy_(add(first, share));
  below.copy_(beside);
  quarter(l, false, true).copy_(adjoint(beside));
}

Tensor cholesky_inverse(const Tensor& factor, bool upper) {
  linalg::check_square(factor, "cholesky_inverse");
  const Tensor result = call("aten::tril", "", {upper ? adjoint(factor) : factor, 0});
  invert_lower(result);
  multiply_adjoint(result);
  return result;
}

// ---- least squares ----

// The X of the smallest ||A X - B||, and of these the smallest itself, by QR of the taller one of A
// and A^H. Undefined unless no singular value of any matrix is below `rtol` of the largest for
// certain: ||A|| ||R^-1|| bounds their ratio.
Tensor solve_by_qr(const Tensor& a, const Tensor& b, double rtol) {
  const bool wide = a.size(-2) < a.size(-1);
  const Tensor tall = wide ? adjoint(a) : a;
  Value argument(tall), factors[2];
  find_operator("aten::geqrf", "")->call({&argument, 1}, factors);
  const int64_t n = tall.size(-1);
  const Tensor lower = adjoint(narrow(factors[0].to_tensor(), -2, 0, n));  // and what lies beside
  const Tensor inverse = call("aten::tril", "", {lower, 0});
  invert_lower(inverse);
  const auto size = [](const Tensor& x) {
    return vector_norm(abs(x).to(DType::kFloat64), Scalar(2), {{-2, -1}});
  };
  const Tensor ratio = mul(mul(size(a), size(inverse)), Scalar(std::max(0.0, rtol)));
  if (!(amax(ratio).item<double>() < 1)) return {};
  Tensor x = b;
  if (wide) {  // Q R^-H B
    const Tensor y = solve_triangular(lower, b, false);
    IntArray sizes(y.sizes());
    sizes[sizes.size() - 2] = tall.size(-2);
    x = zeros(sizes, y.dtype());
    narrow(x, -2, 0, n).copy_(y);
  }
  x = call("aten::ormqr", "", {factors[0], factors[1], x, true, !wide});
  return wide ? x : solve_triangular(adjoint(lower), narrow(x, -2, 0, n), true);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const Tensor& a, const Tensor& b, OptDouble rcond,
                                                 const std::optional<std::string>& driver) {
  linalg::check_matrix(a, "torch.linalg.lstsq");
  TORCHLET_CHECK(a.dtype() == b.dtype(),
                 "torch.linalg.lstsq: Expected input and other to have the same dtype");
  const bool vectors = b.dim() == a.dim() - 1 || b.dim() == 1;
  const Tensor rhs = vectors ? unsqueeze(b, -1) : b;
  const double tolerance = rcond.value_or(default_rtol(a));
  const Tensor rtol = full({}, Scalar(tolerance), DType::kFloat64);
  const int64_t m = a.size(-2), n = a.size(-1);
  Tensor x = a.numel() > 0 ? solve_by_qr(a, rhs, tolerance) : Tensor();
  const bool is_regular = x.defined();
  if (!is_regular) x = matmul(pinv(a, Tensor(), rtol, false), rhs);
  const std::string method = driver.value_or("gelsy");
  const bool svd_method = method == "gelsd" || method == "gelss";
  Tensor residuals = empty(IntArray{0}, linalg::real_dtype(a.dtype()));
  const IntSpan batch = a.sizes().first(a.sizes().size() - 2);
  const Tensor rank = method == "gels" ? empty(IntArray{0}, DType::kInt64)
                      : is_regular     ? full(batch, Scalar(std::min(m, n)), DType::kInt64)
                                       : matrix_rank(a, Tensor(), rtol, false);
  const bool full_rank = method == "gels" || rank.numel() == 0 || amin(rank).item<int64_t>() == n;
  if (m > n && full_rank && method != "gelsy") {
    residuals = sum(square(abs(sub(matmul(a, x), rhs))), IntArray{-2});
    if (vectors) residuals = squeeze(residuals, -1);
  }
  return {vectors ? squeeze(x, -1) : x, residuals, rank,
          svd_method ? linalg::svd(a, false, false).s
                     : empty(IntArray{0}, linalg::real_dtype(a.dtype()))};
}

}  // namespace

TORCHLET_OP_WITH(det, Traits{}, "aten::det(Tensor self) -> Tensor", det);
TORCHLET_OP_WITH(linalg_det, out("out"), "aten::linalg_det(Tensor A) -> Tensor", det);
TORCHLET_OP(linalg_det_all,
            "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
            [](const Tensor& a) {
              const SignAndLog parts = wide_slogdet(a);
              return std::tuple(product_of(parts, a.dtype()), parts.lu, parts.pivots);
            });
TORCHLET_OP(logdet, "aten::logdet(Tensor self) -> Tensor", logdet);
TORCHLET_OP(slogdet, "aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
            [](const Tensor& a) {
              const SignAndLog parts = slogdet(a);
              return std::tuple(parts.sign, parts.log_abs);
            });
TORCHLET_OP(linalg_slogdet, "aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
            [](const Tensor& a) {
              const SignAndLog parts = slogdet(a);
              return std::tuple(parts.sign, parts.log_abs);
            });
TORCHLET_OP(
    linalg_slogdet_all,
    "aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
    [](const Tensor& a) {
      const SignAndLog parts = slogdet(a);
      return std::tuple(parts.sign, parts.log_abs, parts.lu, parts.pivots);
    });

TORCHLET_OP_WITH(inverse, out("out"), "aten::inverse(Tensor self) -> Tensor", inv);
TORCHLET_OP_WITH(linalg_inv, out("out"), "aten::linalg_inv(Tensor A) -> Tensor", inv);
TORCHLET_OP(
    linalg_inv_ex,
    "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    inv_ex);
TORCHLET_OP(pinverse, "aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor",
            [](const Tensor& a, double rcond) {
              return pinv(a, Tensor(), optional_scalar(rcond), false);
            });
TORCHLET_OP(
    linalg_pinv_float,
    "aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
    "hermitian=False) -> Tensor",
    [](const Tensor& a, OptDouble atol, OptDouble rtol, bool hermitian) {
      return pinv(a, optional_scalar(atol), optional_scalar(rtol), hermitian);
    });
TORCHLET_OP(
    linalg_pinv_tensor,
    "aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool "
    "hermitian=False) -> Tensor",
    pinv);
TORCHLET_OP(linalg_pinv,
            "aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
            [](const Tensor& a, double rcond, bool hermitian) {
              return pinv(a, Tensor(), optional_scalar(rcond), hermitian);
            });
TORCHLET_OP(
    linalg_pinv_rcond_tensor,
    "aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    [](const Tensor& a, const Tensor& rcond, bool hermitian) {
      return pinv(a, Tensor(), rcond, hermitian);
    });

TORCHLET_OP(linalg_matrix_rank_float,
            "aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? "
            "rtol=None, bool "
            "hermitian=False) -> Tensor",
            [](const Tensor& a, OptDouble atol, OptDouble rtol, bool hermitian) {
              return matrix_rank(a, optional_scalar(atol), optional_scalar(rtol), hermitian);
            });
TORCHLET_OP(linalg_matrix_rank_tensor,
            "aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? "
            "rtol=None, bool "
            "hermitian=False) -> Tensor",
            matrix_rank);
TORCHLET_OP(linalg_matrix_rank,
            "aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
            [](const Tensor& a, double tol, bool hermitian) {
              return matrix_rank(a, optional_scalar(tol), optional_scalar(0.0), hermitian);
            });
TORCHLET_OP(
    linalg_matrix_rank_tol_tensor,
    "aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    [](const Tensor& a, const Tensor& tol, bool hermitian) {
      return matrix_rank(a, tol, optional_scalar(0.0), hermitian);
    });

TORCHLET_OP(cholesky_inverse, "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
            cholesky_inverse);
TORCHLET_OP(linalg_lstsq,
            "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
            "(Tensor solution, "
            "Tensor residuals, Tensor rank, Tensor singular_values)",
            lstsq);

}  // namespace torchlet::ops
