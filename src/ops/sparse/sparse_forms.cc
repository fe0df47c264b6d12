// What operators on dense tensors do with sparse ones, as far as PyTorch does anything.
#include <algorithm>
#include <cmath>

#include "ops/core/op.h"
#include "ops/engines/matmul.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "ops/sparse/sparse.h"

namespace torchlet::ops {
namespace {

using Args = std::span<Value>;

bool is_sparse(const Tensor& tensor) { return tensor.impl()->sparse != nullptr; }
bool is_sparse(const Value& value) {
  return value.is_tensor() && value.tensor_impl()->sparse != nullptr;
}

Tensor index_tensor(const IntArray& items) {
  const Tensor result = empty(IntArray{std::ssize(items)}, DType::kInt64);
  std::copy(items.begin(), items.end(), result.data_ptr<int64_t>());
  return result;
}

// ---- element by element ----

// The same at each value of the first argument; it maps zeros to zeros. What is linear need not sum
// repeated positions first.
template <bool kLinear = false>
void on_values(const Operator& dense, Args args, Args results) {
  TORCHLET_CHECK(is_sparse(args[0]), "%s of a dense and a sparse tensor is not supported",
                 dense.name.c_str());
  const Tensor self = kLinear ? args[0].to_tensor() : coalesce(args[0].to_tensor());
  for (const Value& other : args.subspan(1)) {
    TORCHLET_CHECK(!other.is_tensor() || (!is_sparse(other) && other.to_tensor().dim() == 0),
                   "%s of a sparse tensor and one of several elements is not supported",
                   dense.name.c_str());
  }
  SparseParts parts = parts_of(self);
  args[0] = Value(parts.values);
  dense.call(args, results);
  parts.values = results[0].to_tensor();
  results[0] = Value(from_parts(std::move(parts), IntArray(self.sizes())));
}

void on_dense(const Operator& dense, Args args, Args results) {
  for (Value& arg : args) {
    if (is_sparse(arg)) arg = Value(to_dense(arg.to_tensor()));
  }
  dense.call(args, results);
}

Tensor sum_of(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  TORCHLET_CHECK(std::ranges::equal(self.sizes(), other.sizes()),
                 "sparse tensors of different sizes cannot be added: %s and %s",
                 self.describe().c_str(), other.describe().c_str());
  const SparseParts &a = parts_of(self), &b = parts_of(other);
  const DType dtype = result_type(a.values, b.values);
  SparseParts parts{cat({a.indices, b.indices}, 1),
                    cat({a.values.to(dtype), mul(b.values, alpha).to(dtype)}, 0)};
  parts = parts_of(coalesce(from_parts(std::move(parts), IntArray(self.sizes()))));
  parts.layout = a.layout;
  return from_parts(std::move(parts), IntArray(self.sizes()));
}

template <int Sign>
void add_form(const Operator& dense, Args args, Args results) {
  if (!is_sparse(args[0])) return on_dense(dense, args, results);
  TORCHLET_CHECK(is_sparse(args[1]),
                 "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  const Scalar alpha = args[2].to_scalar();
  const Scalar factor = Sign > 0                           ? alpha
                        : is_floating_point(alpha.dtype()) ? Scalar(-alpha.to_double())
                                                           : Scalar(-alpha.to_int());
  results[0] = Value(sum_of(args[0].to_tensor(), args[1].to_tensor(), factor));
}

// Positions of `self` times what the other tensor holds there; of another sparse tensor, only those
// that it has too.
void mul_form(const Operator& dense, Args args, Args results) {
  if (!is_sparse(args[0])) std::swap(args[0], args[1]);
  if (!args[1].is_tensor() || args[1].to_tensor().dim() == 0) {
    return on_values<true>(dense, args, results);
  }
  const Tensor other = args[1].to_tensor();
  const Tensor self = is_sparse(other) ? coalesce(args[0].to_tensor()) : args[0].to_tensor();
  TORCHLET_CHECK(std::ranges::equal(self.sizes(), other.sizes()),
                 "mul of a sparse tensor: the sizes %s and %s differ", self.describe().c_str(),
                 other.describe().c_str());
  SparseParts parts = parts_of(self);
  const std::vector<Tensor> where = unbind(parts.indices, 0);
  if (is_sparse(other)) {
    SparseParts present = parts_of(other);
    present.values = full(IntArray{present.values.size(0)}, Scalar(true), DType::kBool);
    IntArray sparse_sizes(other.sizes().first(static_cast<size_t>(present.indices.size(0))));
    const Tensor both = index(to_dense(from_parts(std::move(present), sparse_sizes)), where);
    const Tensor kept = select(nonzero(both), 1, 0);
    parts.indices = index_select(parts.indices, 1, kept);
    parts.values = index_select(parts.values, 0, kept);
  }
  parts.values = mul(parts.values, index(to_dense(other), unbind(parts.indices, 0)));
  results[0] = Value(from_parts(std::move(parts), IntArray(self.sizes())));
}

// ---- products ----

void check_shapes(const Tensor& a, const Tensor& b) {
  TORCHLET_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0),
                 "mat1 and mat2 shapes cannot be multiplied (%s and %s)", a.describe().c_str(),
                 b.describe().c_str());
  TORCHLET_CHECK(a.dtype() == b.dtype(), "expected m1 and m2 to have the same dtype, got %s and %s",
                 a.describe().c_str(), b.describe().c_str());
}

// sparse [m, k] times dense [k, n]
Tensor times_dense(const Tensor& sparse, const Tensor& dense) {
  check_shapes(sparse, dense);
  const SparseParts& parts = parts_of(sparse);
  TORCHLET_CHECK(parts.indices.size(0) == 2, "a product needs a matrix without dense dimensions");
  const Tensor result = zeros(IntArray{sparse.size(0), dense.size(1)}, sparse.dtype());
  const Tensor rows = index_select(dense, 0, select(parts.indices, 0, 1));
  index_put_(result, {select(parts.indices, 0, 0)}, mul(unsqueeze(parts.values, 1), rows), true);
  return result;
}

// Dimensions in another order; dense ones stay where they are.
Tensor permuted(const Tensor& self, const IntArray& order) {
  const SparseParts& parts = parts_of(self);
  const auto sparse_dims = static_cast<size_t>(parts.indices.size(0));
  IntArray sizes;
  for (size_t d = 0; d < order.size(); ++d) {
    TORCHLET_CHECK(d < sparse_dims || order[d] == static_cast<int64_t>(d),
                   "the dense dimensions of a sparse tensor cannot be moved");
    sizes.push_back(self.size(order[d]));
  }
  const Tensor rows = index_tensor(IntArray(IntSpan(order).first(sparse_dims)));
  return from_parts({index_select(parts.indices, 0, rows), parts.values}, sizes);
}

// Positions that the product of the patterns has, even where sums cancel out.
Tensor times_sparse(const Tensor& a, const Tensor& b) {
  check_shapes(a, b);
  const auto pattern = [](const Tensor& sparse) {
    SparseParts parts = parts_of(sparse);
    parts.values = full(parts.values.sizes(), Scalar(1), DType::kFloat32);
    return to_dense(from_parts(std::move(parts), IntArray(sparse.sizes())));
  };
  const Tensor positions = transpose(nonzero(matmul(pattern(a), pattern(b))), 0, 1).contiguous();
  const Tensor product = matmul(to_dense(a), to_dense(b));
  return from_parts({positions, index(product, unbind(positions, 0)), true},
                    IntArray(product.sizes()));
}

Tensor product(const Tensor& a, const Tensor& b) {
  if (is_sparse(a) && is_sparse(b)) return times_sparse(a, b);
  if (is_sparse(a) && b.dim() == 1) return squeeze(times_dense(a, unsqueeze(b, 1)), 1);
  if (is_sparse(a) && b.dim() == 2) return times_dense(a, b);
  if (is_sparse(b) && b.dim() == 2 && a.dim() >= 1) {
    const Tensor rows = reshape(a, IntArray{-1, a.size(-1)});
    const Tensor turned = times_dense(permuted(b, {1, 0}), transpose(rows, 0, 1));
    IntArray sizes(a.sizes());
    sizes.back() = b.size(1);
    return reshape(transpose(turned, 0, 1), sizes);
  }
  return matmul(to_dense(a), to_dense(b));
}

void product_form(const Operator&, Args args, Args results) {
  results[0] = Value(product(args[0].to_tensor(), args[1].to_tensor()));
}

void linear_form(const Operator&, Args args, Args results) {
  const Tensor weight = args[1].to_tensor();
  const Tensor turned = is_sparse(weight) ? permuted(weight, {1, 0}) : transpose(weight, 0, 1);
  const Tensor result = product(args[0].to_tensor(), turned);
  results[0] = Value(args[2].is_none() ? result : add(result, args[2].to_tensor()));
}

// (self, mat1, mat2, beta, alpha)
void addmm_form(const Operator&, Args args, Args results) {
  const Tensor scaled = mul(product(args[1].to_tensor(), args[2].to_tensor()), args[4].to_scalar());
  const Scalar beta = args[3].to_scalar();
  const bool ignored = beta.to_complex() == 0.0;
  results[0] = Value(ignored ? scaled : add(scaled, mul(args[0].to_tensor(), beta)));
}

// ---- structure ----

void transpose_form(const Operator&, Args args, Args results) {
  const Tensor self = args[0].to_tensor();
  IntArray order(static_cast<size_t>(self.dim()));
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
  const int64_t first = args.size() > 1 ? wrap_dim(args[1].to_int(), self.dim()) : 0;
  const int64_t second = args.size() > 1 ? wrap_dim(args[2].to_int(), self.dim()) : 1;
  if (self.dim() > 1)
    std::swap(order[static_cast<size_t>(first)], order[static_cast<size_t>(second)]);
  results[0] = Value(permuted(self, order));
}

void permute_form(const Operator&, Args args, Args results) {
  const Tensor self = args[0].to_tensor();
  IntArray order;
  for (const int64_t d : FromValue<IntArray>::get(args[1])) {
    order.push_back(wrap_dim(d, self.dim()));
  }
  IntArray sorted = order;
  std::ranges::sort(sorted);
  for (int64_t d = 0; d < self.dim(); ++d) {
    TORCHLET_CHECK(std::ssize(sorted) == self.dim() && sorted[static_cast<size_t>(d)] == d,
                   "permute(dims): dims must name each of %lld dimensions once",
                   static_cast<long long>(self.dim()));
  }
  results[0] = Value(permuted(self, order));
}

void select_form(const Operator&, Args args, Args results) {
  const Tensor self = args[0].to_tensor();
  const SparseParts& parts = parts_of(self);
  const int64_t dim = wrap_dim(args[1].to_int(), self.dim());
  TORCHLET_CHECK(dim < parts.indices.size(0),
                 "select() of a dense dimension of a sparse tensor is not supported");
  const int64_t size = self.size(dim), index = args[2].to_int();
  TORCHLET_CHECK(index >= -size && index < size,
                 "select(): index %lld out of range for tensor of size %s at dimension %lld",
                 static_cast<long long>(index), shape_text(self.sizes()).c_str(),
                 static_cast<long long>(dim));
  const Tensor here = scalar_tensor(Scalar(index < 0 ? index + size : index), DType::kInt64);
  const Tensor kept = ops::select(nonzero(eq(ops::select(parts.indices, 0, dim), here)), 1, 0);
  const Tensor values = index_select(parts.values, 0, kept);
  IntArray rows, sizes;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d == dim) continue;
    sizes.push_back(self.size(d));
    if (d < parts.indices.size(0)) rows.push_back(d);
  }
  if (rows.empty()) {
    results[0] = Value(sum(values, IntArray{0}));
    return;
  }
  const Tensor indices = index_select(parts.indices, 0, index_tensor(rows));
  results[0] = Value(from_parts({index_select(indices, 1, kept), values}, sizes));
}

void cat_form(const Operator&, Args args, Args results) {
  const std::vector<Tensor> tensors = args[0].to_tensor_list();
  const int64_t rank = tensors[0].dim(), dim = wrap_dim(args[1].to_int(), rank);
  std::vector<Tensor> indices, values;
  IntArray sizes(tensors[0].sizes());
  int64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    const SparseParts& parts = parts_of(tensor);
    IntArray others(tensor.sizes());
    TORCHLET_CHECK(tensor.dim() == rank && dim < parts.indices.size(0),
                   "cat of sparse tensors: %s does not fit", tensor.describe().c_str());
    others[static_cast<size_t>(dim)] = sizes[static_cast<size_t>(dim)];
    TORCHLET_CHECK(others == sizes, "cat of sparse tensors: %s does not fit",
                   tensor.describe().c_str());
    indices.push_back(parts.indices.clone());
    const Tensor row = ops::select(indices.back(), 0, dim);
    row.copy_(add(row, Scalar(offset)));
    values.push_back(parts.values);
    offset += tensor.size(dim);
  }
  sizes[static_cast<size_t>(dim)] = offset;
  results[0] = Value(from_parts({cat(indices, 1), cat(values, 0)}, sizes));
}

void zeros_form(const Operator&, Args args, Args results) {
  const Tensor self = args[0].to_tensor();
  SparseParts parts = parts_of(self);
  const DType dtype = args[1].is_none() ? self.dtype() : FromValue<DType>::get(args[1]);
  parts.indices = narrow(parts.indices, 1, 0, 0).clone();
  parts.values = narrow(parts.values, 0, 0, 0).to(dtype).clone();
  parts.coalesced = true;
  results[0] = Value(from_parts(std::move(parts), IntArray(self.sizes())));
}

struct Form {
  std::string_view name;
  SparseForm form;
};
constexpr Form kForms[] = {
    {"mm", product_form},
    {"matmul", product_form},
    {"mv", product_form},
    {"_sparse_mm", product_form},
    {"linear", linear_form},
    {"addmm", addmm_form},
    {"bmm", on_dense},
    {"norm", on_dense},
    {"any", on_dense},
    {"add", add_form<1>},
    {"sub", add_form<-1>},
    {"mul", mul_form},
    {"div", on_values<true>},
    {"true_divide", on_values<true>},
    {"floor_divide", on_values<>},
    {"pow", on_values<>},
    {"abs", on_values<>},
    {"neg", on_values<true>},
    {"sqrt", on_values<>},
    {"square", on_values<>},
    {"sin", on_values<>},
    {"sinh", on_values<>},
    {"asin", on_values<>},
    {"asinh", on_values<>},
    {"tan", on_values<>},
    {"tanh", on_values<>},
    {"atan", on_values<>},
    {"atanh", on_values<>},
    {"expm1", on_values<>},
    {"log1p", on_values<>},
    {"floor", on_values<>},
    {"ceil", on_values<>},
    {"round", on_values<>},
    {"trunc", on_values<>},
    {"sgn", on_values<>},
    {"sign", on_values<>},
    {"erf", on_values<>},
    {"erfinv", on_values<>},
    {"deg2rad", on_values<>},
    {"rad2deg", on_values<>},
    {"isnan", on_values<>},
    {"isinf", on_values<>},
    {"isposinf", on_values<>},
    {"isneginf", on_values<>},
    {"nan_to_num", on_values<>},
    {"t", transpose_form},
    {"transpose", transpose_form},
    {"permute", permute_form},
    {"select", select_form},
    {"cat", cat_form},
    {"zeros_like", zeros_form},
    {"empty_like", zeros_form},
};

Tensor sum_all(const Tensor& self) { return sum(parts_of(self).values); }

// Sparse again, unless all sparse dimensions are summed.
Tensor sum_dims(const Tensor& self, const IntArray& dims) {
  const SparseParts& parts = parts_of(self);
  const int64_t sparse_dims = parts.indices.size(0);
  const IntArray summed = normalize_dims(dims, self.dim());
  IntArray rows, sizes, value_dims;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (std::ranges::find(summed, d) != summed.end()) {
      if (d >= sparse_dims) value_dims.push_back(d - sparse_dims + 1);
      continue;
    }
    sizes.push_back(self.size(d));
    if (d < sparse_dims) rows.push_back(d);
  }
  if (rows.empty()) value_dims.push_back(0);
  const Tensor values = value_dims.empty() ? parts.values : sum(parts.values, value_dims);
  if (rows.empty()) return values;
  const Tensor indices = index_select(parts.indices, 0, index_tensor(rows));
  return coalesce(from_parts({indices, values}, sizes));
}

// Over the values that are there: the others count as minus infinity.
Tensor softmax_of_values(const Tensor& self, int64_t dim, std::optional<DType> dtype, bool log) {
  const Tensor sparse = coalesce(self);
  SparseParts parts = parts_of(sparse);
  const Tensor values = dtype ? parts.values.to(*dtype) : parts.values;
  const std::vector<Tensor> where = unbind(parts.indices, 0);
  const Tensor dense = full(self.sizes(), Scalar(-INFINITY), values.dtype());
  index_put_(dense, where, values, false);
  parts.values = index(log ? log_softmax(dense, dim) : softmax(dense, dim), where);
  return from_parts(std::move(parts), IntArray(self.sizes()));
}

}  // namespace

SparseForm sparse_form(std::string_view name) {
  constexpr std::string_view kSpace = "aten::";
  if (!name.starts_with(kSpace)) return nullptr;
  const auto* found = std::ranges::find(kForms, name.substr(kSpace.size()), &Form::name);
  return found == std::end(kForms) ? nullptr : found->form;
}

TORCHLET_OP(_sparse_sum, "aten::_sparse_sum(Tensor self) -> Tensor", sum_all);
TORCHLET_OP(_sparse_sum_dtype,
            "aten::_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor",
            [](const Tensor& self, DType dtype) {
              return sum(parts_of(self).values, {}, false, dtype);
            });
TORCHLET_OP(_sparse_sum_dim, "aten::_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor", sum_dims);
TORCHLET_OP(_sparse_softmax,
            "aten::_sparse_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
            [](const Tensor& self, int64_t dim, std::optional<DType> dtype) {
              return softmax_of_values(self, dim, dtype, false);
            });
TORCHLET_OP(_sparse_log_softmax,
            "aten::_sparse_log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
            [](const Tensor& self, int64_t dim, std::optional<DType> dtype) {
              return softmax_of_values(self, dim, dtype, true);
            });

}  // namespace torchlet::ops
