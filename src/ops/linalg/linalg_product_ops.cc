// Powers and products of matrices and vectors.
#include <cmath>
#include <complex>

#include "base/checked.h"
#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/integer_math.h"
#include "ops/engines/matmul.h"
#include "ops/linalg/linalg.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

using linalg::adjoint;
using linalg::Batch;
using linalg::call;
using linalg::View;
using linalg::with_type;

Tensor identity(int64_t n, DType dtype) {
  const Tensor eye = zeros(IntArray{n, n}, dtype);
  fill(make_view(eye, IntArray{n}, IntArray{n + 1}, 0), Scalar(1));
  return eye;
}

Tensor matrix_power(const Tensor& a, int64_t n) {
  TORCHLET_CHECK(a.dim() >= 2 && a.size(-1) == a.size(-2),
                 "linalg.matrix_power: A must be batches of square matrices");
  if (n == 0) return expand(identity(a.size(-1), a.dtype()), a.sizes()).clone();
  Tensor factor = n < 0 ? call("aten::linalg_inv", "", {a}) : a, result;
  for (uint64_t bits = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n); bits;
       bits >>= 1) {
    if (bits & 1) result = result.defined() ? matmul(result, factor) : factor;
    if (bits > 1) factor = matmul(factor, factor);
  }
  return result.is_same(a) ? a.clone() : result;
}

// The Taylor series of a matrix whose norm is at most 1, as precise as T: as a polynomial in A^4,
// which takes few products (Paterson and Stockmeyer 1973).
template <typename T>
void sum_exponential(const View<T>& a, const View<T>& sum) {
  constexpr int kPowers = 4, kBlocks = std::is_same_v<T, float> ? 3 : 5;
  const linalg::Matrix<T> second = linalg::product<T>(a, a), third = linalg::product<T>(second, a),
                          fourth = linalg::product<T>(second, second);
  double coefficients[kBlocks * kPowers] = {1};
  for (int k = 1; k < kBlocks * kPowers; ++k) coefficients[k] = coefficients[k - 1] / k;
  linalg::fill(sum, T(0));
  for (int block = kBlocks - 1; block >= 0; --block) {
    const double* const c = coefficients + block * kPowers;
    const T c1(c[1]), c2(c[2]), c3(c[3]);
    if (block + 1 < kBlocks) linalg::copy<T>(linalg::product<T>(sum, fourth), sum);
    for (int64_t i = 0; i < a.rows(); ++i) {
      for (int64_t j = 0; j < a.cols(); ++j) {
        sum(i, j) += linalg::times(c1, a(i, j)) + linalg::times(c2, second(i, j)) +
                     linalg::times(c3, third(i, j));
      }
      sum(i, i) += T(c[0]);
    }
  }
}

// By halving the matrix until its norm is at most 1, and squaring.
Tensor matrix_exp(const Tensor& a) {
  linalg::check_inexact(a, "linalg.matrix_exp");
  TORCHLET_CHECK(a.dim() >= 2 && a.size(-1) == a.size(-2),
                 "linalg.matrix_exp: A must be batches of square matrices");
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> in(a), out(a.sizes());
    for (int64_t i = 0; i < in.count(); ++i) {
      const View<T> scaled = in[i], sum = out[i];
      const int64_t n = in.rows();
      double size = 0;  // the largest sum of a row
      for (int64_t r = 0; r < n; ++r) {
        double row = 0;
        for (int64_t c = 0; c < n; ++c) row += std::abs(scaled(r, c));
        size = std::max(size, row);
      }
      const int halvings =
          size > 1 ? static_cast<int>(std::min(1000.0, std::ceil(std::log2(size)))) : 0;
      for (int64_t r = 0; r < n; ++r) linalg::scale(scaled.row(r), T(std::ldexp(1.0, -halvings)));
      sum_exponential(scaled, sum);
      for (int k = 0; k < halvings; ++k) linalg::copy<T>(linalg::product(sum, sum), sum);
    }
    return out.to(a.dtype());
  });
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
  return compute_as<kMapAll>(dtype, "vander", [&](auto zero) {
    using T = decltype(zero);
    // cumprod of floats multiplies doubles
    using Power = std::conditional_t<std::is_same_v<T, float>, double, T>;
    const Tensor result = empty(shape, DTypeOf<T>::value), base = dense_as<T>(x);
    const T* const from = const_data<T>(base);
    T* to = result.data_ptr<T>();
    for (int64_t i = 0; i < base.numel(); ++i) {
      poll();
      Power power(1);
      for (int64_t k = 0; k < n; ++k) {
        *to++ = static_cast<T>(power);
        power = wrap_mul(power, Power(from[i]));
      }
    }
    return result.to(dtype);
  });
}

Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  linalg::check_inexact(x, "linalg.vecdot");
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
  return reshape(call("aten::linalg_inv", "", {reshape(a, IntArray{rows, cols})}), shape);
}

Tensor tensorsolve(const Tensor& a, const Tensor& b, const std::optional<IntArray>& dims) {
  Tensor moved = a;
  if (dims) {
    IntArray targets;
    const int64_t first = a.dim() - static_cast<int64_t>(dims->size());
    for (size_t i = 0; i < dims->size(); ++i) targets.push_back(first + static_cast<int64_t>(i));
    moved = call("aten::movedim", "intlist", {a, make_int_list(*dims), make_int_list(targets)});
  }
  TORCHLET_CHECK(b.dim() <= moved.dim(),
                 "Expected self to have at least as many dimensions as other, got %s and %s",
                 a.describe().c_str(), b.describe().c_str());
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
    shape.push_back(checked_mul(x, y));
  }
  return reshape(mul(reshape(a, a_shape), reshape(b, b_shape)), shape);
}

// Q C, Q^H C, C Q or C Q^H with Q the product of the reflections of geqrf.
Tensor ormqr(const Tensor& reflections, const Tensor& tau, const Tensor& c, bool left,
             bool transposed) {
  linalg::check_matrix(reflections, "torch.ormqr");
  const int64_t m = reflections.size(-2), k = tau.size(-1);
  const Tensor target = left ? c : linalg::adjoint(c);  // C Q = (Q^H C^H)^H
  TORCHLET_CHECK(k <= m && k <= reflections.size(-1) && target.size(-2) == m,
                 "torch.ormqr: the reflections do not suit the matrix");
  const IntArray batch = linalg::batch_of(reflections, target);
  IntArray tau_sizes(batch);
  tau_sizes.push_back(k);
  const Tensor result = linalg::with_type(c.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const linalg::Given<T> in(linalg::expand_batch(reflections, batch));
    const Batch<T> out(linalg::expand_batch(target, batch));
    const Tensor factors = expand(tau, tau_sizes).to(DTypeOf<T>::value).contiguous();
    for (int64_t i = 0; i < out.count(); ++i) {
      linalg::apply_reflections(in[i].block(0, 0, m, k), factors.template data_ptr<T>() + i * k,
                                left == transposed, out[i]);
    }
    return out.to(c.dtype());
  });
  return left ? result : linalg::adjoint(result).contiguous();
}

Tensor trace(const Tensor& a) {
  TORCHLET_CHECK(a.dim() == 2, "trace: expected a matrix, but got tensor with dim %lld",
                 static_cast<long long>(a.dim()));
  return sum(call("aten::diagonal", "", {a, 0, 0, 1}));
}

}  // namespace

TORCHLET_OP_WITH(matrix_power, out("out"), "aten::matrix_power(Tensor self, int n) -> Tensor",
                 matrix_power);
TORCHLET_OP_WITH(linalg_matrix_power, out("out"),
                 "aten::linalg_matrix_power(Tensor self, int n) -> Tensor", matrix_power);
TORCHLET_OP(matrix_exp, "aten::matrix_exp(Tensor self) -> Tensor", matrix_exp);
TORCHLET_OP(linalg_matrix_exp, "aten::linalg_matrix_exp(Tensor self) -> Tensor", matrix_exp);

TORCHLET_OP_WITH(linalg_multi_dot, out("out") | may_alias(),
                 "aten::linalg_multi_dot(Tensor[] tensors) -> Tensor",
                 [](const std::vector<Tensor>& tensors) { return multi_dot(tensors); });
TORCHLET_OP_WITH(linalg_matmul, out("out"),
                 "aten::linalg_matmul(Tensor self, Tensor other) -> Tensor",
                 [](const Tensor& a, const Tensor& b) { return matmul(a, b); });
TORCHLET_OP_WITH(linalg_cross, out("out"),
                 "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", cross);
TORCHLET_OP(linalg_vander, "aten::linalg_vander(Tensor x, *, int? N=None) -> Tensor", vander);
TORCHLET_OP_WITH(linalg_vecdot, out("out"),
                 "aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", vecdot);
TORCHLET_OP_WITH(linalg_tensorinv, out("out"),
                 "aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", tensorinv);
TORCHLET_OP_WITH(linalg_tensorsolve, out("out"),
                 "aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
                 tensorsolve);
TORCHLET_OP(
    linalg_diagonal,
    "aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
    [](const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
      return call("aten::diagonal", "", {a, offset, dim1, dim2});
    });
TORCHLET_OP_WITH(kron, out("out"), "aten::kron(Tensor self, Tensor other) -> Tensor", kron);
TORCHLET_OP_WITH(ormqr, out("out"),
                 "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool "
                 "transpose=False) -> Tensor",
                 ormqr);
TORCHLET_OP_WITH(trace, out("out"), "aten::trace(Tensor self) -> Tensor", trace);

}  // namespace torchlet::ops
