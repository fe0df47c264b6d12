// Norms of matrices and condition numbers.
#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "kernels/simd/scratch.h"
#include "ops/core/op.h"
#include "ops/engines/fold.h"
#include "ops/engines/kernel_map.h"
#include "ops/engines/matmul.h"
#include "ops/linalg/linalg.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

using linalg::call;

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
  linalg::check_inexact(self, "linalg.matrix_norm");
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
  linalg::check_inexact(self, "linalg.matrix_norm");
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
  const auto [inverse, info] = linalg::inverse(a);
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

// The norm over all dimensions but `dim`, which keep the size 1; over all, 0-d, if `dim` is -1.
Tensor norm_except_dim(const Tensor& v, int64_t pow, int64_t dim) {
  if (dim == -1) return vector_norm(v, Scalar(pow));
  IntArray others;
  for (int64_t d = 0; d < v.dim(); ++d) {
    if (d != wrap_dim(dim, v.dim())) others.push_back(d);
  }
  // No dimensions would mean all of them.
  if (others.empty()) return vector_norm(unsqueeze(v, 1), Scalar(pow), IntArray{1});
  return vector_norm(v, Scalar(pow), others, true);
}

// v * (g / norm) and norm, the lengths of rows of contiguous floats. A block of rows is multiplied
// while it is in the cache, where its norms were found.
std::tuple<Tensor, Tensor> weight_norm_of_rows(const Tensor& v, const Tensor& g) {
  constexpr int64_t kBlockElements = 1 << 15;
  const int64_t rows = v.size(0), columns = v.numel() / rows;
  const int64_t most = std::max<int64_t>(1, kBlockElements / columns);
  const Tensor matrix = view(v, IntArray{rows, columns}), all = g.contiguous();
  const Tensor out = empty_like(v), norm = empty(g.sizes(), DType::kFloat32);
  parallel_for(rows, most, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r += most) {
      const int64_t count = std::min(most, end - r);
      const Tensor norms = narrow(norm, 0, r, count);
      fold_into(kernels::Fold::kSumOfSquares, narrow(matrix, 0, r, count), IntArray{1}, norms);
      const kernels::Scratch<float> factors(count);
      for (int64_t i = 0; i < count; ++i) {
        float& length = norms.data_ptr<float>()[i];
        length = std::sqrt(length);
        factors[i] = all.data_ptr<float>()[r + i] / length;
      }
      kernels::binary_rows_f32(
          kernels::MatrixBinaryOp::kMul, count, columns, v.data_ptr<float>() + r * columns, columns,
          {.data = factors.data(), .spread = kernels::Spread::kRows, .stride = 1}, {},
          out.data_ptr<float>() + r * columns, columns);
    }
  });
  return {out, norm};
}

// v * factors. Of floats with a factor for each row or column, by a kernel that reads each once.
Tensor scaled(const Tensor& v, const Tensor& factors) {
  if (v.dim() == 2 && factors.dim() == 2 && !v.is_contiguous()) {
    const Tensor across = transpose(v, 0, 1);
    if (!across.is_contiguous()) return mul(v, factors);
    return transpose(scaled(across, transpose(factors, 0, 1)), 0, 1);
  }
  const auto has_one_for_each = [&](int64_t d) {
    return factors.dim() == v.dim() && factors.numel() == v.size(d) && factors.size(d) == v.size(d);
  };
  const bool is_float = v.dtype() == DType::kFloat32 && factors.dtype() == DType::kFloat32;
  if (!is_float || v.numel() == 0 || !v.is_contiguous()) return mul(v, factors);
  const bool is_of_rows = has_one_for_each(0);
  if (!is_of_rows && !(v.dim() == 2 && has_one_for_each(1))) return mul(v, factors);
  const Tensor out = empty_like(v), all = factors.contiguous();
  const int64_t rows = v.size(0), columns = v.numel() / rows;
  kernels::binary_rows_f32(
      kernels::MatrixBinaryOp::kMul, rows, columns, v.data_ptr<float>(), columns,
      {.data = all.data_ptr<float>(),
       .spread = is_of_rows ? kernels::Spread::kRows : kernels::Spread::kColumns,
       .stride = 1},
      {}, out.data_ptr<float>(), columns);
  return out;
}

// v * (g / |v|), and |v|
std::tuple<Tensor, Tensor> weight_norm(const Tensor& v, const Tensor& g, int64_t dim) {
  const bool is_float = v.dtype() == DType::kFloat32 && g.dtype() == DType::kFloat32;
  if (is_float && v.is_contiguous() && v.numel() > 0 && v.dim() > 1 && dim == 0 &&
      g.dim() == v.dim() && g.numel() == v.size(0) && g.size(0) == v.size(0)) {
    return weight_norm_of_rows(v, g);
  }
  const Tensor norm = norm_except_dim(v, 2, dim);
  return {scaled(v, div(g, norm)), norm};
}

// At the first or last dimension g may be of any shape with an element for each norm, and the norms
// take that shape.
std::tuple<Tensor, Tensor> weight_norm_of_ends(const Tensor& v, const Tensor& g, int64_t dim) {
  TORCHLET_CHECK(v.dim() > 0 && (dim == 0 || dim == v.dim() - 1),
                 "fused kernels can only be applied for first or last dim");
  IntArray kept(v.sizes().size(), 1);
  kept[static_cast<size_t>(dim)] = v.size(dim);
  const auto [w, norm] = weight_norm(v, reshape(g, kept), dim);
  return {w, reshape(norm, g.sizes())};
}

}  // namespace

TORCHLET_OP_WITH(
    linalg_norm, out("out"),
    "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    norm);
TORCHLET_OP_WITH(
    linalg_norm_str, out("ord_str_out"),
    "aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    [](const Tensor& self, const std::string& ord, const std::optional<IntArray>& dim, bool keepdim,
       std::optional<DType> dtype) {
      return matrix_norm_named(self, ord, dim ? *dim : IntArray{0, 1}, keepdim, dtype);
    });
TORCHLET_OP_WITH(
    linalg_matrix_norm, out("out"),
    "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    [](const Tensor& self, double ord, const IntArray& dim, bool keepdim,
       std::optional<DType> dtype) { return matrix_norm(self, ord, dim, keepdim, dtype); });
TORCHLET_OP_WITH(
    linalg_matrix_norm_str, out("str_ord_out"),
    "aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool "
    "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    [](const Tensor& self, const std::string& ord, const IntArray& dim, bool keepdim,
       std::optional<DType> dtype) { return matrix_norm_named(self, ord, dim, keepdim, dtype); });
TORCHLET_OP_WITH(nuclear_norm, out("out"),
                 "aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
                 [](const Tensor& self, bool keepdim) {
                   TORCHLET_CHECK(self.dim() == 2,
                                  "Expected a tensor with 2 dimensions, but got %lld",
                                  static_cast<long long>(self.dim()));
                   return nuclear_norm(self, IntArray{0, 1}, keepdim);
                 });
TORCHLET_OP_WITH(nuclear_norm_dim, out("dim_out"),
                 "aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
                 [](const Tensor& self, const IntArray& dim, bool keepdim) {
                   return nuclear_norm(self, dim, keepdim);
                 });
TORCHLET_OP(norm_except_dim, "aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
            norm_except_dim);
TORCHLET_OP(_weight_norm, "aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
            [](const Tensor& v, const Tensor& g, int64_t dim) {
              const bool of_ends = v.dim() > 0 && (dim == 0 || dim == v.dim() - 1);
              return std::get<0>((of_ends ? weight_norm_of_ends : weight_norm)(v, g, dim));
            });
TORCHLET_OP_WITH(_weight_norm_interface, out("out(out0, out1)"),
                 "aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
                 weight_norm_of_ends);
TORCHLET_OP_WITH(linalg_cond, out("out"),
                 "aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", cond);
TORCHLET_OP_WITH(linalg_cond_str, out("p_str_out"),
                 "aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", cond_named);

}  // namespace torchlet::ops
