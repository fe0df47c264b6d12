// Matrix and vector products, and the BLAS-like beta * self + alpha * product.
#include "ops/engines/matmul.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/vectors.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/integer_math.h"
#include "ops/math/math.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

// beta * self + alpha * product, where self is broadcast to the product's shape. With beta 0 self
// is not read, so that its NaNs do not come through.
Tensor combine(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
  const DType dtype = self.dtype();
  TORCHLET_CHECK(product.dtype() == dtype, "self and mat2 must have the same dtype, got %s and %s",
                 dtype_name(dtype).data(), dtype_name(product.dtype()).data());
  const Tensor base = expand(self, product.sizes());
  return compute_as<kMapAll>(dtype, "addmm", [&](auto zero) {
    using T = decltype(zero);
    const T b = scalar_as<T>(beta), a = scalar_as<T>(alpha);
    if (b == T(0)) return map_in<T, 1>({product}, dtype, [a](T x) { return a * x; });
    return map_in<T, 2>({base, product}, dtype, [a, b](T x, T y) { return b * x + a * y; });
  });
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  TORCHLET_CHECK(self.dim() == 2 && vec.dim() == 1,
                 "vector + matrix @ vector expected, got 1, %lld, %lld",
                 static_cast<long long>(self.dim()), static_cast<long long>(vec.dim()));
  TORCHLET_CHECK(self.size(1) == vec.size(0), "size mismatch, got %lld, %lldx%lld,%lld",
                 static_cast<long long>(self.size(0)), static_cast<long long>(self.size(0)),
                 static_cast<long long>(self.size(1)), static_cast<long long>(vec.size(0)));
  return matmul(self, vec);
}

Tensor dot(const Tensor& self, const Tensor& other) {
  TORCHLET_CHECK(self.dim() == 1 && other.dim() == 1,
                 "1D tensors expected, but got %lldD and %lldD tensors",
                 static_cast<long long>(self.dim()), static_cast<long long>(other.dim()));
  TORCHLET_CHECK(self.numel() == other.numel(),
                 "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same "
                 "number of elements, but got %lld and %lld elements respectively",
                 static_cast<long long>(self.numel()), static_cast<long long>(other.numel()),
                 static_cast<long long>(self.numel()), static_cast<long long>(other.numel()));
  return matmul(self, other);
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  if (!is_complex(self.dtype())) return dot(self, other);
  using Complex = std::complex<double>;
  return dot(map_in<Complex, 1>({self}, self.dtype(), [](Complex x) { return std::conj(x); }),
             other);
}

Tensor outer(const Tensor& self, const Tensor& vec2) {
  TORCHLET_CHECK(self.dim() == 1, "outer: Expected 1-D argument self, but got %lld-D",
                 static_cast<long long>(self.dim()));
  TORCHLET_CHECK(vec2.dim() == 1, "outer: Expected 1-D argument vec2, but got %lld-D",
                 static_cast<long long>(vec2.dim()));
  return map<kMapAll, 2>({unsqueeze(self, 1), vec2}, result_type(self, vec2),
                         [](auto x, auto y) { return x * y; });
}

// Sum over the last dimension of both.
Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) {
    return map<kMapAll, 2>({self, other}, result_type(self, other),
                           [](auto x, auto y) { return x * y; });
  }
  TORCHLET_CHECK(self.size(-1) == other.size(-1),
                 "inner() the last dimension must match on both input tensors but got shapes %s "
                 "and %s",
                 self.describe().c_str(), other.describe().c_str());
  return tensordot(self, other, {{-1}}, {{-1}});
}

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  TORCHLET_CHECK(mat1.dim() == 2 && mat2.dim() == 2,
                 "mat1 and mat2 must be matrices, got %lld-D and %lld-D tensors",
                 static_cast<long long>(mat1.dim()), static_cast<long long>(mat2.dim()));
  const bool is_layer = self.dim() == 1 && self.numel() == mat2.size(1) &&
                        mat1.size(1) == mat2.size(0) && beta.to_double() == 1 &&
                        alpha.to_double() == 1;
  if (is_layer && self.dtype() == DType::kFloat32 && mat1.dtype() == self.dtype() &&
      mat2.dtype() == self.dtype()) {
    return linear(mat1, transpose(mat2, 0, 1), self);
  }
  return combine(self, mm(mat1, mat2), beta, alpha);
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  return combine(self, mv(mat, vec), beta, alpha);
}

// A product with an inner dimension of one.
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  TORCHLET_CHECK(vec1.dim() == 1 && vec2.dim() == 1,
                 "addr: Expected 1-D arguments vec1 and vec2, but got %lld-D and %lld-D",
                 static_cast<long long>(vec1.dim()), static_cast<long long>(vec2.dim()));
  const DType dtype = promote_types(self.dtype(), result_type(vec1, vec2));
  if (is_integral(dtype, true)) {
    TORCHLET_CHECK(
        alpha.is_integral(),
        "For integral input tensors, argument alpha must not be a floating point number.");
    TORCHLET_CHECK(
        beta.is_integral(),
        "For integral input tensors, argument beta must not be a floating point number.");
  }
  if (self.dim() == 2 && self.stride(0) == 1 && self.stride(1) != 1) {  // by columns, so is the sum
    return transpose(addr(transpose(self, 0, 1), vec2, vec1, beta, alpha), 0, 1);
  }
  const int64_t m = vec1.size(0), n = vec2.size(0);
  const Tensor base = expand(self, {{m, n}});
  if (dtype == DType::kBool) {  // whose functions of two are tables
    const int64_t b = scalar_as<int64_t>(beta) != 0, a = scalar_as<int64_t>(alpha) != 0;
    return map<kMapInt, 2>({base, outer(vec1, vec2)}, dtype,
                           [a, b](auto s, auto product) { return (b & s) | (a & product); });
  }
  return compute_as<kMapAll>(dtype, "addr", [&](auto zero) {
    using T = decltype(zero);
    constexpr DType kType = DTypeOf<T>::value;
    const T b = scalar_as<T>(beta), a = scalar_as<T>(alpha);
    const auto scaled = [](const Tensor& x, T factor) {
      return map_in<T, 1>({x}, kType, [factor](T y) { return wrap_mul(factor, y); });
    };
    const Tensor out = empty(base.sizes(), kType);
    const Tensor column = scaled(vec1, a), row = dense_as<T>(vec2);
    if constexpr (std::is_same_v<T, float> && selection::kHasConversions) {
      if (b == T(1) && base.dtype() == kType && base.stride(1) == 1 && !is_meta(out)) {
        constexpr int64_t kElementsPerTask = 32768;
        const T *const factors = const_data<T>(column), *const products = const_data<T>(row);
        parallel_for(m, std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, n)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         kernels::add_scaled(factors[i], products,
                                             base.data_ptr<T>() + i * base.stride(0),
                                             out.data_ptr<T>() + i * n, n);
                       }
                     });
        return out.to(dtype);
      }
    }
    if (b != T(0)) out.copy_(b == T(1) ? base : scaled(base, b));
    gemm<T>(m, n, 1, {const_data<T>(column), 1, 1}, {const_data<T>(row), n, 1}, out.data_ptr<T>(),
            n, b != T(0));
    return out.to(dtype);
  });
}

// Batched products cut the factors of integers to integers, where addmm refuses them.
Scalar factor(const Scalar& scalar, const Tensor& self) {
  return is_integral(self.dtype(), true) && scalar.is_floating_point() ? Scalar(scalar.to_int())
                                                                       : scalar;
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  return combine(self, bmm(batch1, batch2), factor(beta, self), factor(alpha, self));
}

// The sum of all products of the batch: one product with the batch laid along the inner dimension.
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  TORCHLET_CHECK(batch1.dim() == 3 && batch2.dim() == 3,
                 "batch1 and batch2 must be 3D tensors, got %lld-D and %lld-D",
                 static_cast<long long>(batch1.dim()), static_cast<long long>(batch2.dim()));
  TORCHLET_CHECK(batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1),
                 "batch1 and batch2 must have same number of batches and fitting sizes, got %s and "
                 "%s",
                 batch1.describe().c_str(), batch2.describe().c_str());
  const Tensor a =
      reshape(permute(batch1, {{1, 0, 2}}), {{batch1.size(1), batch1.size(0) * batch1.size(2)}});
  const Tensor b = reshape(batch2, {{batch2.size(0) * batch2.size(1), batch2.size(2)}});
  return combine(self, mm(a, b), factor(beta, self), factor(alpha, self));
}

Tensor chain_matmul(const std::vector<Tensor>& matrices) {
  TORCHLET_CHECK(!matrices.empty(), "chain_matmul(): Expected one or more matrices");
  for (const Tensor& matrix : matrices) {
    TORCHLET_CHECK(matrix.dim() == 2, "chain_matmul: expected 2-D tensors, got %s",
                   matrix.describe().c_str());
  }
  return multi_dot(matrices);
}

// y[..., o] = x1[..., i] W[o, i, j] x2[..., j] + b[o]
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  TORCHLET_CHECK(weight.dim() == 3, "bilinear(): expected a 3-D weight, got %s",
                 weight.describe().c_str());
  TORCHLET_CHECK(input1.dim() == input2.dim() && input1.dim() > 0,
                 "bilinear(): input dimensions do not match: got %lld and %lld",
                 static_cast<long long>(input1.dim()), static_cast<long long>(input2.dim()));
  const IntSpan lead = input1.sizes().first(input1.sizes().size() - 1);
  TORCHLET_CHECK(std::ranges::equal(lead, input2.sizes().first(lead.size())),
                 "bilinear(): input batch dimensions do not match: got %s and %s",
                 input1.describe().c_str(), input2.describe().c_str());
  TORCHLET_CHECK(input1.size(-1) == weight.size(1) && input2.size(-1) == weight.size(2),
                 "bilinear(): input sizes do not match the weight: got %s, %s and weight %s",
                 input1.describe().c_str(), input2.describe().c_str(), weight.describe().c_str());
  TORCHLET_CHECK(!bias.defined() || bias.size(0) == weight.size(0),
                 "bilinear(): bias size does not match weight size");
  const int64_t outputs = weight.size(0), n1 = weight.size(1), n2 = weight.size(2);
  const Tensor x1 = reshape(input1, {{-1, 1, n1}});
  const Tensor x2 = reshape(input2, {{-1, n2, 1}});
  // [batch, 1, i] x [i, o * j] -> [batch, o, j], then x [batch, j, 1]
  const Tensor w = reshape(permute(weight, {{1, 0, 2}}), {{n1, outputs * n2}});
  const Tensor rows = reshape(matmul(x1, w), {{x1.size(0), outputs, n2}});
  IntArray shape(lead);
  shape.push_back(outputs);
  const Tensor result = reshape(matmul(rows, x2), shape);
  if (!bias.defined()) return result;
  return map<kMapAll, 2>({result, bias}, result.dtype(), [](auto x, auto y) { return x + y; });
}

// sum(i1 * i2 * i3) over `sumdim`, each operand with dimensions of size 1 inserted at its `expand`.
Tensor trilinear(const Tensor& i1, const Tensor& i2, const Tensor& i3, const IntArray& expand1,
                 const IntArray& expand2, const IntArray& expand3, const IntArray& sumdim,
                 int64_t) {
  auto insert = [](Tensor t, const IntArray& dims) {
    for (int64_t dim : dims) t = unsqueeze(t, dim);
    return t;
  };
  return sum(mul(mul(insert(i1, expand1), insert(i2, expand2)), insert(i3, expand3)), sumdim);
}

// torch.einsum(a, [0, 1], b, [1, 2], [0, 2]): labels as numbers below 52, which stands for "...".
Tensor einsum_sublists(std::span<const Value> args) {
  auto letters = [](const Value& sublist) {
    std::string text;
    for (const Value& item : sublist.to_list()) {
      const int64_t label = item.to_int();
      TORCHLET_CHECK(label >= 0 && label <= 52, "einsum(): subscripts must be in [0, 52), got %lld",
                     static_cast<long long>(label));
      text += label == 52
                  ? "..."
                  : std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26));
    }
    return text;
  };
  std::vector<Tensor> operands;
  std::string equation;
  size_t i = 0;
  for (; i + 1 < args.size(); i += 2) {
    operands.push_back(args[i].to_tensor());
    equation += (operands.size() > 1 ? "," : "") + letters(args[i + 1]);
  }
  if (i < args.size()) equation += "->" + letters(args[i]);
  return einsum(equation, operands);
}

}  // namespace

TORCHLET_OP_BOXED_WITH(einsum_sublist, may_alias(), "aten::einsum.sublist(Tensor a, ...) -> Tensor",
                       [](const Operator&, std::span<Value> args, std::span<Value> results) {
                         results[0] = einsum_sublists(args);
                       });
TORCHLET_OP_WITH(_trilinear, out("out"),
                 "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] "
                 "expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
                 trilinear);
TORCHLET_OP_WITH(_addmm_activation, out("out"),
                 "aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar "
                 "beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor",
                 [](const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                    const Scalar& alpha, bool use_gelu) {
                   const Tensor sum = addmm(self, mat1, mat2, beta, alpha);
                   return use_gelu ? gelu(sum) : relu(sum);
                 });
TORCHLET_OP_WITH(mm, on_meta() | out("out") | rank(RankRule::kProduct) | places(PlaceRule::kRows),
                 "aten::mm(Tensor self, Tensor mat2) -> Tensor", mm);
TORCHLET_OP_WITH(bmm, on_meta() | out("out") | places(PlaceRule::kRows),
                 "aten::bmm(Tensor self, Tensor mat2) -> Tensor", bmm);
TORCHLET_OP_WITH(mv, out("out") | rank(RankRule::kProduct),
                 "aten::mv(Tensor self, Tensor vec) -> Tensor", mv);
TORCHLET_OP_WITH(dot, out("out") | rank(RankRule::kProduct),
                 "aten::dot(Tensor self, Tensor tensor) -> Tensor", dot);
TORCHLET_OP_WITH(vdot, out("out"), "aten::vdot(Tensor self, Tensor other) -> Tensor", vdot);
TORCHLET_OP_WITH(matmul, on_meta() | out("out") | places(PlaceRule::kRows),
                 "aten::matmul(Tensor self, Tensor other) -> Tensor", matmul);
TORCHLET_OP_WITH(linear,
                 on_meta() | out("out") | rank(RankRule::kProduct) | dtype(DTypeRule::kWeight) |
                     places(PlaceRule::kButLast),
                 "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", linear);
TORCHLET_OP_WITH(outer, out("out") | on_meta(), "aten::outer(Tensor self, Tensor vec2) -> Tensor", outer);
TORCHLET_OP_WITH(ger, out("out") | on_meta(), "aten::ger(Tensor self, Tensor vec2) -> Tensor", outer);
TORCHLET_OP_WITH(inner, out("out"), "aten::inner(Tensor self, Tensor other) -> Tensor", inner);
TORCHLET_OP_WITH(tensordot, out("out"),
                 "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] "
                 "dims_other) -> Tensor",
                 [](const Tensor& self, const Tensor& other, const IntArray& dims_self,
                    const IntArray& dims_other) {
                   return tensordot(self, other, dims_self, dims_other);
                 });
TORCHLET_OP_WITH(einsum,
                 on_meta() | may_alias_unless_several("tensors") | rank(RankRule::kEquation),
                 "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
                 [](const std::string& equation, const std::vector<Tensor>& tensors,
                    const std::optional<IntArray>&) { return einsum(equation, tensors); });
TORCHLET_OP_WITH(addmm, on_meta() | inplace() | out("out"),
                 "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
                 "alpha=1) -> Tensor",
                 addmm);
TORCHLET_OP_WITH(addmv, inplace() | out("out"),
                 "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar "
                 "alpha=1) -> Tensor",
                 addmv);
TORCHLET_OP_WITH(addr, inplace() | out("out"),
                 "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar "
                 "alpha=1) -> Tensor",
                 addr);
TORCHLET_OP_WITH(addbmm, inplace() | out("out"),
                 "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
                 "Scalar alpha=1) -> Tensor",
                 addbmm);
TORCHLET_OP_WITH(baddbmm, on_meta() | inplace() | out("out"),
                 "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
                 "Scalar alpha=1) -> Tensor",
                 baddbmm);
TORCHLET_OP_WITH(chain_matmul, out("out") | may_alias(),
                 "aten::chain_matmul(Tensor[] matrices) -> Tensor", chain_matmul);
TORCHLET_OP(bilinear,
            "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> "
            "Tensor",
            bilinear);

}  // namespace torchlet::ops
