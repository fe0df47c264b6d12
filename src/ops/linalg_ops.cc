// Determinants, inverses, norms, spectra and products of matrices.
#include <cmath>
#include <complex>

#include "ops/linalg.h"
#include "ops/math.h"
#include "ops/matmul.h"
#include "ops/op.h"

namespace torchlet::ops {
namespace {

using linalg::Batch;
using linalg::with_type;
using OptDouble = std::optional<double>;

Tensor call(const char* name, const char* overload, std::vector<Value> args) {
  const Operator* op = find_operator(name, overload);
  TORCHLET_ASSERT(op);
  std::vector<Value> results(op->schema.returns.size());
  op->call(args, results);
  return results[0].to_tensor();
}

Tensor identity(int64_t n, DType dtype) {
  const Tensor eye = zeros(IntArray{n, n}, dtype);
  fill(make_view(eye, IntArray{n}, IntArray{n + 1}, 0), Scalar(1));
  return eye;
}

Tensor adjoint(const Tensor& a) {
  const Tensor view = transpose(a, -2, -1);
  return is_complex(a.dtype()) ? call("aten::conj_physical", "", {view}) : view;
}

// ---- determinants ----

struct SignAndLog {
  Tensor sign, log_abs, lu, pivots;
};

SignAndLog slogdet(const Tensor& a) {
  linalg::check_square(a, "linalg.slogdet");
  const Operator* factor = find_operator("aten::linalg_lu_factor_ex", "");
  Value args[] = {Value(a), Value(true), Value(false)}, results[3];
  factor->call(args, results);
  const Tensor lu = results[0].to_tensor(), pivots = results[1].to_tensor();
  const IntSpan batch = a.sizes().first(a.sizes().size() - 2);
  const int64_t n = a.size(-1);
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> factors(lu);
    const Tensor sign = empty(batch, DTypeOf<T>::value), log_abs = empty(batch, DType::kFloat64);
    for (int64_t i = 0; i < factors.count(); ++i) {
      T s(1);
      double log_sum = 0;
      for (int64_t j = 0; j < n; ++j) {
        if (pivots.data_ptr<int32_t>()[i * n + j] != j + 1) s = -s;
        const T d = factors[i](j, j);
        const double size = std::abs(d);
        s *= size == 0 ? T(0) : d / T(size);
        log_sum += std::log(size);
      }
      sign.data_ptr<T>()[i] = s;
      log_abs.data_ptr<double>()[i] = log_sum;
    }
    return SignAndLog{sign.to(a.dtype()), log_abs.to(linalg::real_dtype(a.dtype())), lu, pivots};
  });
}

Tensor det(const Tensor& a) {
  linalg::check_square(a, "linalg.det");
  const SignAndLog parts =
      slogdet(a.to(is_complex(a.dtype()) ? DType::kComplex128 : DType::kFloat64));
  return mul(parts.sign, exp(parts.log_abs)).to(a.dtype());
}

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

bool is_lower(const std::string& uplo) {
  const char c = uplo.empty() ? '\0' : uplo[0];
  TORCHLET_CHECK(c == 'L' || c == 'l' || c == 'U' || c == 'u',
                 "Expected UPLO argument to be 'L' or 'U', but got %s", uplo.c_str());
  return c == 'L' || c == 'l';
}

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

// ---- norms ----

// What needs no decomposition takes the 16-bit floats too.
void check_inexact(const Tensor& a, const char* name) {
  TORCHLET_CHECK(is_floating_point(a.dtype()) || is_complex(a.dtype()),
                 "%s: Expected a floating point or complex tensor as input. Got %s", name,
                 std::string(dtype_name(a.dtype())).c_str());
}

// Moves the two dims to the end, so that [..., m, n] are the matrices.
Tensor matrices_of(const Tensor& self, IntSpan dim) {
  TORCHLET_CHECK(dim.size() == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got %zu dims",
                 dim.size());
  const int64_t rank = self.dim();
  TORCHLET_CHECK(rank >= 2,
                 "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  const int64_t a = wrap_dim(dim[0], rank), b = wrap_dim(dim[1], rank);
  TORCHLET_CHECK(a != b, "linalg.matrix_norm: dims must be different. Got (%lld, %lld)",
                 static_cast<long long>(dim[0]), static_cast<long long>(dim[1]));
  IntArray order;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != a && d != b) order.push_back(d);
  }
  order.push_back(a);
  order.push_back(b);
  return permute(self, order);
}

Tensor with_kept_dims(Tensor norms, IntSpan dim, int64_t rank, bool keepdim) {
  if (!keepdim) return norms;
  for (const int64_t d : normalize_dims(dim, rank)) norms = unsqueeze(norms, d);
  return norms;
}

Tensor converted(const Tensor& self, std::optional<DType> dtype) {
  return dtype ? self.to(*dtype) : self;
}

Tensor matrix_norm(const Tensor& input, double ord, IntSpan dim, bool keepdim,
                   std::optional<DType> dtype) {
  const Tensor self = converted(input, dtype);
  check_inexact(self, "linalg.matrix_norm");
  const Tensor a = matrices_of(self, dim);
  const double size = std::fabs(ord);
  TORCHLET_CHECK(size == 1 || size == 2 || std::isinf(size),
                 "linalg.matrix_norm: Order %g not supported.", ord);
  Tensor candidates;  // the norm is their largest or smallest
  if (size == 2) {
    candidates = linalg::svd(a, false, false).s;
  } else {
    candidates = sum(abs(a), IntArray{size == 1 ? -2 : -1});
  }
  const Tensor norms = ord > 0 ? amax(candidates, IntArray{-1}) : amin(candidates, IntArray{-1});
  return with_kept_dims(norms, dim, self.dim(), keepdim);
}

Tensor matrix_norm_named(const Tensor& input, const std::string& ord, IntSpan dim, bool keepdim,
                         std::optional<DType> dtype) {
  const Tensor self = converted(input, dtype);
  check_inexact(self, "linalg.matrix_norm");
  TORCHLET_CHECK(ord == "fro" || ord == "nuc", "linalg.matrix_norm: Order %s not supported.",
                 ord.c_str());
  const Tensor a = matrices_of(self, dim);
  if (ord == "fro") return vector_norm(self, Scalar(2), dim, keepdim);
  return with_kept_dims(sum(linalg::svd(a, false, false).s, IntArray{-1}), dim, self.dim(),
                        keepdim);
}

Tensor norm(const Tensor& self, std::optional<Scalar> ord, const std::optional<IntArray>& dim,
            bool keepdim, std::optional<DType> dtype) {
  const bool whole_matrix = ord && !dim && self.dim() == 2;
  TORCHLET_CHECK(
      !ord || dim || self.dim() == 1 || self.dim() == 2,
      "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got %lldD.",
      static_cast<long long>(self.dim()));
  if (ord && ((dim && dim->size() == 2) || whole_matrix)) {
    return matrix_norm(self, ord->to_double(), dim ? *dim : IntArray{0, 1}, keepdim, dtype);
  }
  return vector_norm(converted(self, dtype), ord.value_or(Scalar(2)),
                     dim ? IntSpan(*dim) : IntSpan(), keepdim);
}

Tensor nuclear_norm(const Tensor& self, IntSpan dim, bool keepdim) {
  return matrix_norm_named(self, "nuc", dim, keepdim, std::nullopt);
}

// The norm of a matrix times that of its inverse; infinite for a singular one.
template <typename Norm>
Tensor cond_of(const Tensor& a, Norm norm) {
  const auto [inverse, info] = inv_ex(a, false);
  const Tensor singular = call("aten::gt", "Scalar", {info, 0});
  const Tensor none = scalar_tensor(Scalar(0.0), a.dtype());
  const Tensor usable = where(unsqueeze(unsqueeze(singular, -1), -1), none, inverse);
  const Tensor infinite = scalar_tensor(Scalar(INFINITY), linalg::real_dtype(a.dtype()));
  return where(singular, infinite, mul(norm(a), norm(usable)));
}

Tensor cond(const Tensor& a, std::optional<Scalar> p) {
  linalg::check_matrix(a, "linalg.cond");
  const double ord = p ? p->to_double() : 2;
  if (std::fabs(ord) == 2) {
    if (a.numel() == 0)
      return zeros(a.sizes().first(a.sizes().size() - 2), linalg::real_dtype(a.dtype()));
    const Tensor s = linalg::svd(a, false, false).s;
    const Tensor high = select(s, -1, 0), low = select(s, -1, s.size(-1) - 1);
    return ord < 0 ? div(low, high) : div(high, low);
  }
  linalg::check_square(a, "linalg.cond");
  if (a.numel() == 0)
    return zeros(a.sizes().first(a.sizes().size() - 2), linalg::real_dtype(a.dtype()));
  return cond_of(a, [ord](const Tensor& x) {
    return matrix_norm(x, ord, IntArray{-2, -1}, false, std::nullopt);
  });
}

Tensor cond_named(const Tensor& a, const std::string& p) {
  linalg::check_square(a, "linalg.cond");
  return cond_of(a, [&p](const Tensor& x) {
    return matrix_norm_named(x, p, IntArray{-2, -1}, false, std::nullopt);
  });
}

// ---- powers ----

Tensor matrix_power(const Tensor& a, int64_t n) {
  TORCHLET_CHECK(a.dim() >= 2 && a.size(-1) == a.size(-2),
                 "linalg.matrix_power: A must be batches of square matrices");
  if (n == 0) return expand(identity(a.size(-1), a.dtype()), a.sizes()).clone();
  Tensor factor = n < 0 ? inv(a) : a, result;
  for (uint64_t bits = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n); bits;
       bits >>= 1) {
    if (bits & 1) result = result.defined() ? matmul(result, factor) : factor;
    if (bits > 1) factor = matmul(factor, factor);
  }
  return result.is_same(a) ? a.clone() : result;
}

// Scaling and squaring of the Taylor series: with a norm below 1/2, 18 terms reach double
// precision.
Tensor matrix_exp(const Tensor& a) {
  check_inexact(a, "linalg.matrix_exp");
  TORCHLET_CHECK(a.dim() >= 2 && a.size(-1) == a.size(-2),
                 "linalg.matrix_exp: A must be batches of square matrices");
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> in(a), out(a.sizes());
    for (int64_t i = 0; i < in.count(); ++i) {
      linalg::Matrix<T> scaled = in[i];
      const double size = scaled.size() ? scaled.cwiseAbs().rowwise().sum().maxCoeff() : 0;
      const int halvings =
          size > 0.5 ? std::min(1000, static_cast<int>(std::ceil(std::log2(size))) + 1) : 0;
      scaled *= T(std::ldexp(1.0, -halvings));
      linalg::Matrix<T> sum = linalg::Matrix<T>::Identity(in.rows(), in.rows()), term = sum;
      for (int k = 1; k <= 18; ++k) {
        term = (term * scaled).eval() / T(k);
        sum += term;
      }
      for (int k = 0; k < halvings; ++k) sum = (sum * sum).eval();
      out[i] = sum;
    }
    return out.to(a.dtype());
  });
}

// ---- spectra of general matrices: the QR algorithm on the complex Hessenberg form ----

struct Eig {
  Tensor values, vectors;
};

// Brings a Hessenberg matrix to triangular form by shifted QR steps; q gathers the rotations.
void schur(linalg::Matrix<std::complex<double>>& a, linalg::Matrix<std::complex<double>>& q) {
  using C = std::complex<double>;
  const int64_t n = a.rows();
  q.setIdentity(n, n);
  const double scale = std::max(a.norm(), 1e-300);
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
      const auto top = a.row(k).eval();
      a.row(k) = c * top + sine * a.row(k + 1);
      a.row(k + 1) = c * a.row(k + 1) - std::conj(sine) * top;
    }
    for (int64_t k = low; k < high; ++k) {  // A = R G^H
      const auto [c, sine] = turns[static_cast<size_t>(k - low)];
      for (auto* m : {&a, &q}) {
        const auto left = m->col(k).eval();
        m->col(k) = c * left + std::conj(sine) * m->col(k + 1);
        m->col(k + 1) = c * m->col(k + 1) - sine * left;
      }
    }
    for (int64_t i = low; i <= high; ++i) a(i, i) += shift;
  }
}

// Householder reflections that leave only one subdiagonal; q gathers them.
void to_hessenberg(linalg::Matrix<std::complex<double>>& a,
                   linalg::Matrix<std::complex<double>>& q) {
  using C = std::complex<double>;
  const int64_t n = a.rows();
  q.setIdentity(n, n);
  for (int64_t k = 0; k + 2 < n; ++k) {
    Eigen::VectorXcd v = a.col(k).tail(n - k - 1);
    const double length = v.norm();
    if (length == 0 || v.tail(n - k - 2).norm() == 0) continue;
    v[0] += std::abs(v[0]) == 0 ? C(length) : v[0] / std::abs(v[0]) * length;
    v /= v.norm();
    a.bottomRows(n - k - 1) -= 2.0 * v * (v.adjoint() * a.bottomRows(n - k - 1)).eval();
    a.rightCols(n - k - 1) -= (a.rightCols(n - k - 1) * v).eval() * 2.0 * v.adjoint();
    q.rightCols(n - k - 1) -= (q.rightCols(n - k - 1) * v).eval() * 2.0 * v.adjoint();
  }
}

Eig eig(const Tensor& a) {
  using C = std::complex<double>;
  using CMatrix = linalg::Matrix<C>;
  linalg::check_square(a, "linalg.eig");
  const Batch<C> in(a), vectors(a.sizes());
  const Tensor values = empty(a.sizes().first(a.sizes().size() - 1), DType::kComplex128);
  const int64_t n = in.rows();
  for (int64_t b = 0; b < in.count(); ++b) {
    TORCHLET_CHECK(in[b].allFinite(),
                   "torch.linalg.eig: input tensor should not contain infs or NaNs.");
    CMatrix t = in[b], basis, turned;
    to_hessenberg(t, basis);
    schur(t, turned);
    const CMatrix q = basis * turned;
    for (int64_t j = 0; j < n; ++j) {
      values.data_ptr<C>()[b * n + j] = t(j, j);
      Eigen::VectorXcd x = Eigen::VectorXcd::Zero(n);
      x[j] = 1;
      for (int64_t i = j; i-- > 0;) {
        C sum = t(i, j);
        for (int64_t k = i + 1; k < j; ++k) sum += t(i, k) * x[k];
        C gap = t(i, i) - t(j, j);
        if (std::abs(gap) < 1e-14 * t.norm()) gap = 1e-14 * t.norm();
        x[i] = -sum / gap;
      }
      Eigen::VectorXcd v = q * x;
      v /= v.norm();
      int64_t largest_at;
      v.cwiseAbs().maxCoeff(&largest_at);
      v *= std::conj(v[largest_at]) /
           std::abs(v[largest_at]);  // LAPACK: the largest component is real
      vectors[b].col(j) = v;
    }
  }
  const DType result =
      linalg::real_dtype(a.dtype()) == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
  return {values.to(result), vectors.to(result)};
}

// ---- least squares ----

std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const Tensor& a, const Tensor& b, OptDouble rcond,
                                                 const std::optional<std::string>& driver) {
  linalg::check_matrix(a, "torch.linalg.lstsq");
  TORCHLET_CHECK(a.dtype() == b.dtype(),
                 "torch.linalg.lstsq: Expected input and other to have the same dtype");
  const bool vectors = b.dim() == a.dim() - 1 || b.dim() == 1;
  const Tensor rhs = vectors ? unsqueeze(b, -1) : b;
  const Tensor rtol = full({}, Scalar(rcond ? *rcond : default_rtol(a)), DType::kFloat64);
  const Tensor x = matmul(pinv(a, Tensor(), rtol, false), rhs);
  const int64_t m = a.size(-2), n = a.size(-1);
  const std::string method = driver.value_or("gelsy");
  const bool svd_method = method == "gelsd" || method == "gelss";
  Tensor residuals = empty(IntArray{0}, linalg::real_dtype(a.dtype()));
  const Tensor rank =
      method == "gels" ? empty(IntArray{0}, DType::kInt64) : matrix_rank(a, Tensor(), rtol, false);
  const bool full_rank =
      method == "gels" ||
      call("aten::all", "", {call("aten::eq", "Scalar", {rank, n})}).item<bool>();
  if (m > n && full_rank && method != "gelsy") {
    residuals = sum(square(abs(sub(matmul(a, x), rhs))), IntArray{-2});
    if (vectors) residuals = squeeze(residuals, -1);
  }
  return {vectors ? squeeze(x, -1) : x, residuals, rank,
          svd_method ? linalg::svd(a, false, false).s
                     : empty(IntArray{0}, linalg::real_dtype(a.dtype()))};
}

// ---- products ----

Tensor cross(const Tensor& a, const Tensor& b, int64_t dim) {
  TORCHLET_CHECK(a.dim() == b.dim(),
                 "linalg.cross: inputs must have the same number of dimensions.");
  TORCHLET_CHECK(a.size(dim) == 3 && b.size(dim) == 3,
                 "linalg.cross: inputs dimension %lld must have length 3. Got %lld and %lld",
                 static_cast<long long>(dim), static_cast<long long>(a.size(dim)),
                 static_cast<long long>(b.size(dim)));
  const IntArray shape = broadcast_shapes(a.sizes(), b.sizes());
  const Tensor x = expand(a, shape), y = expand(b, shape);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    parts.push_back(
        sub(mul(select(x, dim, j), select(y, dim, k)), mul(select(x, dim, k), select(y, dim, j))));
  }
  return call("aten::stack", "",
              {make_tensor_list(std::move(parts)), Value(wrap_dim(dim, a.dim()))});
}

Tensor vander(const Tensor& self, std::optional<int64_t> columns) {
  const Tensor x = self.dim() == 0 ? unsqueeze(self, 0) : self;
  const int64_t n = columns.value_or(x.size(-1));
  TORCHLET_CHECK(n > 1, "N must be greater than 1.");
  // Powers of integers are int64, as those of cumprod.
  const DType dtype = is_integral(x.dtype(), true) ? DType::kInt64 : x.dtype();
  IntArray shape(x.sizes());
  shape.push_back(n);
  const Tensor result = empty(shape, dtype), base = x.to(dtype);
  Tensor power = full(x.sizes(), Scalar(1), dtype);
  for (int64_t i = 0; i < n; ++i) {
    select(result, -1, i).copy_(power);
    power = mul(power, base);
  }
  return result;
}

Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  check_inexact(x, "linalg.vecdot");
  const Tensor left = is_complex(x.dtype()) ? call("aten::conj_physical", "", {x}) : x;
  return sum(mul(left, y), IntArray{dim});
}

Tensor tensorinv(const Tensor& a, int64_t ind) {
  TORCHLET_CHECK(ind > 0 && ind <= a.dim(),
                 "Expected a strictly positive integer for 'ind', got %lld",
                 static_cast<long long>(ind));
  int64_t rows = 1, cols = 1;
  IntArray shape;
  for (int64_t d = ind; d < a.dim(); ++d) shape.push_back(a.size(d)), cols *= a.size(d);
  for (int64_t d = 0; d < ind; ++d) shape.push_back(a.size(d)), rows *= a.size(d);
  TORCHLET_CHECK(rows == cols,
                 "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
                 "prod(self.shape[:ind]), but got %lld != %lld",
                 static_cast<long long>(cols), static_cast<long long>(rows));
  return reshape(inv(reshape(a, IntArray{rows, cols})), shape);
}

Tensor tensorsolve(const Tensor& a, const Tensor& b, const std::optional<IntArray>& dims) {
  Tensor moved = a;
  if (dims) {
    IntArray targets;
    const int64_t first = a.dim() - static_cast<int64_t>(dims->size());
    for (size_t i = 0; i < dims->size(); ++i) targets.push_back(first + static_cast<int64_t>(i));
    moved = call("aten::movedim", "intlist", {a, make_int_list(*dims), make_int_list(targets)});
  }
  IntArray shape(moved.sizes().begin() + b.dim(), moved.sizes().end());
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  TORCHLET_CHECK(n == b.numel(),
                 "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                 "prod(self.shape[:other.ndim])");
  const Tensor x = call("aten::linalg_solve", "",
                        {reshape(moved, IntArray{n, n}), reshape(b, IntArray{n}), true});
  return reshape(x, shape);
}

// Every element of a times all of b, as blocks.
Tensor kron(const Tensor& a, const Tensor& b) {
  const int64_t rank = std::max(a.dim(), b.dim());
  IntArray a_shape, b_shape, shape;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t i = d - (rank - a.dim()), j = d - (rank - b.dim());
    const int64_t x = i < 0 ? 1 : a.size(i), y = j < 0 ? 1 : b.size(j);
    a_shape.push_back(x);
    a_shape.push_back(1);
    b_shape.push_back(1);
    b_shape.push_back(y);
    shape.push_back(x * y);
  }
  return reshape(mul(reshape(a, a_shape), reshape(b, b_shape)), shape);
}

// Q C, Q^H C, C Q or C Q^H with Q the product of the reflections of geqrf.
Tensor ormqr(const Tensor& reflections, const Tensor& tau, const Tensor& c, bool left,
             bool transposed) {
  linalg::check_matrix(reflections, "torch.ormqr");
  // Q is square: the reflections are completed with columns that do nothing.
  const int64_t m = reflections.size(-2), k = tau.size(-1);
  IntArray shape(reflections.sizes());
  shape.back() = m;
  const Tensor wide = zeros(shape, reflections.dtype());
  narrow(wide, -1, 0, k).copy_(narrow(reflections, -1, 0, k));
  const Tensor q = call("aten::linalg_householder_product", "", {wide, tau});
  const Tensor factor = transposed ? adjoint(q) : q;
  return left ? matmul(factor, c) : matmul(c, factor);
}

Tensor trace(const Tensor& a) {
  TORCHLET_CHECK(a.dim() == 2, "trace: expected a matrix, but got tensor with dim %lld",
                 static_cast<long long>(a.dim()));
  return sum(call("aten::diagonal", "", {a, 0, 0, 1}));
}

}  // namespace

TORCHLET_OP_VARIANTS(det, Variants{}, "aten::det(Tensor self) -> Tensor", det);
TORCHLET_OP_VARIANTS(linalg_det, out("out"), "aten::linalg_det(Tensor A) -> Tensor", det);
TORCHLET_OP(linalg_det_all,
            "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
            [](const Tensor& a) {
              const SignAndLog parts = slogdet(a);
              return std::tuple(det(a), parts.lu, parts.pivots);
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

TORCHLET_OP_VARIANTS(inverse, out("out"), "aten::inverse(Tensor self) -> Tensor", inv);
TORCHLET_OP_VARIANTS(linalg_inv, out("out"), "aten::linalg_inv(Tensor A) -> Tensor", inv);
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

TORCHLET_OP_VARIANTS(
    linalg_norm, out("out"),
    "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    norm);
TORCHLET_OP_VARIANTS(
    linalg_norm_str, out("ord_str_out"),
    "aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    [](const Tensor& self, const std::string& ord, const std::optional<IntArray>& dim, bool keepdim,
       std::optional<DType> dtype) {
      return matrix_norm_named(self, ord, dim ? *dim : IntArray{0, 1}, keepdim, dtype);
    });
TORCHLET_OP_VARIANTS(
    linalg_matrix_norm, out("out"),
    "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    [](const Tensor& self, double ord, const IntArray& dim, bool keepdim,
       std::optional<DType> dtype) { return matrix_norm(self, ord, dim, keepdim, dtype); });
TORCHLET_OP_VARIANTS(
    linalg_matrix_norm_str, out("str_ord_out"),
    "aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool "
    "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    [](const Tensor& self, const std::string& ord, const IntArray& dim, bool keepdim,
       std::optional<DType> dtype) { return matrix_norm_named(self, ord, dim, keepdim, dtype); });
TORCHLET_OP_VARIANTS(nuclear_norm, out("out"),
                     "aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
                     [](const Tensor& self, bool keepdim) {
                       TORCHLET_CHECK(self.dim() == 2,
                                      "Expected a tensor with 2 dimensions, but got %lld",
                                      static_cast<long long>(self.dim()));
                       return nuclear_norm(self, IntArray{0, 1}, keepdim);
                     });
TORCHLET_OP_VARIANTS(
    nuclear_norm_dim, out("dim_out"),
    "aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    [](const Tensor& self, const IntArray& dim, bool keepdim) {
      return nuclear_norm(self, dim, keepdim);
    });
TORCHLET_OP(norm_except_dim, "aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
            [](const Tensor& v, int64_t pow, int64_t dim) {
              if (dim == -1) return vector_norm(v, Scalar(pow));
              IntArray others;
              for (int64_t d = 0; d < v.dim(); ++d) {
                if (d != wrap_dim(dim, v.dim())) others.push_back(d);
              }
              return vector_norm(v, Scalar(pow), others, true);
            });
TORCHLET_OP_VARIANTS(linalg_cond, out("out"),
                     "aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", cond);
TORCHLET_OP_VARIANTS(linalg_cond_str, out("p_str_out"),
                     "aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", cond_named);

TORCHLET_OP_VARIANTS(matrix_power, out("out"), "aten::matrix_power(Tensor self, int n) -> Tensor",
                     matrix_power);
TORCHLET_OP_VARIANTS(linalg_matrix_power, out("out"),
                     "aten::linalg_matrix_power(Tensor self, int n) -> Tensor", matrix_power);
TORCHLET_OP(matrix_exp, "aten::matrix_exp(Tensor self) -> Tensor", matrix_exp);
TORCHLET_OP(linalg_matrix_exp, "aten::linalg_matrix_exp(Tensor self) -> Tensor", matrix_exp);

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
TORCHLET_OP_VARIANTS(linalg_svdvals, out("out"),
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
              return std::tuple(result.u, result.s, adjoint(result.vh));
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
TORCHLET_OP_VARIANTS(linalg_eigvalsh, out("out"),
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
TORCHLET_OP_VARIANTS(linalg_eigvals, out("out"), "aten::linalg_eigvals(Tensor self) -> Tensor",
                     [](const Tensor& a) { return eig(a).values; });
TORCHLET_OP(linalg_lstsq,
            "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
            "(Tensor solution, "
            "Tensor residuals, Tensor rank, Tensor singular_values)",
            lstsq);

TORCHLET_OP_VARIANTS(linalg_multi_dot, out("out"),
                     "aten::linalg_multi_dot(Tensor[] tensors) -> Tensor",
                     [](const std::vector<Tensor>& tensors) { return multi_dot(tensors); });
TORCHLET_OP_VARIANTS(linalg_matmul, out("out"),
                     "aten::linalg_matmul(Tensor self, Tensor other) -> Tensor",
                     [](const Tensor& a, const Tensor& b) { return matmul(a, b); });
TORCHLET_OP_VARIANTS(linalg_cross, out("out"),
                     "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
                     cross);
TORCHLET_OP(linalg_vander, "aten::linalg_vander(Tensor x, *, int? N=None) -> Tensor", vander);
TORCHLET_OP_VARIANTS(linalg_vecdot, out("out"),
                     "aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", vecdot);
TORCHLET_OP_VARIANTS(linalg_tensorinv, out("out"),
                     "aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", tensorinv);
TORCHLET_OP_VARIANTS(
    linalg_tensorsolve, out("out"),
    "aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", tensorsolve);
TORCHLET_OP(
    linalg_diagonal,
    "aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
    [](const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
      return call("aten::diagonal", "", {a, offset, dim1, dim2});
    });
TORCHLET_OP_VARIANTS(kron, out("out"), "aten::kron(Tensor self, Tensor other) -> Tensor", kron);
TORCHLET_OP_VARIANTS(ormqr, out("out"),
                     "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool "
                     "transpose=False) -> Tensor",
                     ormqr);
TORCHLET_OP_VARIANTS(trace, out("out"), "aten::trace(Tensor self) -> Tensor", trace);

}  // namespace torchlet::ops
