#include "base/counted_vector.h"
#include "ops/sparse/sparse.h"

#include <algorithm>
#include <numeric>

#include "base/sort.h"
#include "ops/core/op.h"
#include "ops/creation/factory.h"
#include "ops/engines/compute.h"
#include "ops/engines/matmul.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {

const SparseParts& parts_of(const Tensor& self) {
  TORCHLET_CHECK(self.impl()->sparse, "expected a sparse tensor, got %s", self.describe().c_str());
  return *self.impl()->sparse;
}

Tensor from_parts(SparseParts parts, const IntArray& sizes) {
  auto impl = make_ref<TensorImpl>();
  impl->dtype = parts.values.dtype();
  impl->sizes = sizes;
  impl->strides = contiguous_strides(sizes);
  impl->update_numel();
  impl->sparse = std::make_shared<const SparseParts>(std::move(parts));
  return Tensor(std::move(impl));
}

namespace {

// The largest of some indices that are `step` apart; a negative one counts as larger than all
// others.
uint64_t largest_of(const int64_t* indices, int64_t step, int64_t count) {
  uint64_t largest[4] = {};  // by turns: each waits for the one before
  int64_t i = 0;
  for (; i + 4 <= count; i += 4, indices += 4 * step) {
    for (int64_t k = 0; k < 4; ++k) {
      largest[k] = std::max(largest[k], static_cast<uint64_t>(indices[k * step]));
    }
  }
  for (; i < count; ++i, indices += step) {
    largest[0] = std::max(largest[0], static_cast<uint64_t>(*indices));
  }
  return *std::ranges::max_element(largest);
}

// One past the largest index of each sparse dimension; Error on a negative index.
IntArray extent_of(const Tensor& indices) {
  const int64_t nnz = indices.size(1);
  IntArray extent(static_cast<size_t>(indices.size(0)));
  for (size_t d = 0; d < extent.size() && nnz > 0; ++d) {
    const int64_t* const at =
        indices.data_ptr<int64_t>() + static_cast<int64_t>(d) * indices.stride(0);
    const auto largest = static_cast<int64_t>(largest_of(at, indices.stride(1), nnz));
    TORCHLET_CHECK(largest >= 0 && largest < std::numeric_limits<int64_t>::max(),
                   "found negative index %lld for dim %zu", static_cast<long long>(largest), d);
    extent[d] = largest + 1;
  }
  return extent;
}

}  // namespace

Tensor make_sparse(const Tensor& indices, const Tensor& values, std::optional<IntArray> sizes) {
  TORCHLET_CHECK(is_integral(indices.dtype(), false), "indices must be an int64 tensor, got %s",
                 indices.describe().c_str());
  TORCHLET_CHECK(indices.dim() == 2, "indices must be sparse_dim x nnz, but got: %s",
                 indices.describe().c_str());
  const Tensor content = values.dim() == 0 ? expand(values, IntArray{indices.size(1)}) : values;
  TORCHLET_CHECK(content.size(0) == indices.size(1),
                 "indices and values must have same nnz, but got nnz from indices: %lld, nnz from "
                 "values: %lld",
                 static_cast<long long>(indices.size(1)), static_cast<long long>(content.size(0)));
  const Tensor positions = indices.to(DType::kInt64);
  const IntArray extent = extent_of(positions);
  const IntSpan dense_sizes = content.sizes().subspan(1);
  if (!sizes) {
    sizes = extent;
    for (int64_t size : dense_sizes) sizes->push_back(size);
  }
  TORCHLET_CHECK(sizes->size() == extent.size() + dense_sizes.size(),
                 "number of dimensions must be sparse_dim (%zu) + dense_dim (%zu), but got %zu",
                 extent.size(), dense_sizes.size(), sizes->size());
  for (size_t d = 0; d < extent.size(); ++d) {
    TORCHLET_CHECK(extent[d] <= (*sizes)[d],
                   "size is inconsistent with indices: for dim %zu, size is %lld but found index "
                   "%lld",
                   d, static_cast<long long>((*sizes)[d]), static_cast<long long>(extent[d] - 1));
  }
  TORCHLET_CHECK(std::ranges::equal(dense_sizes, IntSpan(*sizes).subspan(extent.size())),
                 "values has incorrect size %s", values.describe().c_str());
  return from_parts({positions, content, false}, *sizes);
}

Tensor to_dense(const Tensor& self) {
  if (!self.impl()->sparse) return self;
  const SparseParts& parts = *self.impl()->sparse;
  const Tensor result = zeros(self.sizes(), self.dtype());
  std::vector<Tensor> where;
  for (int64_t d = 0; d < parts.indices.size(0); ++d) where.push_back(select(parts.indices, 0, d));
  if (where.empty()) {  // no sparse dimension: at most one value, repeats are summed
    return parts.values.size(0) == 0 ? result : sum(parts.values, IntArray{0});
  }
  index_put_(result, where, parts.values, true);
  return result;
}

Tensor coalesce(const Tensor& self) {
  const SparseParts& parts = parts_of(self);
  if (parts.coalesced) return self;
  const Tensor indices = parts.indices.contiguous();
  const int64_t rank = indices.size(0), nnz = indices.size(1);
  const int64_t* data = indices.data_ptr<int64_t>();
  CountedVector<int64_t> order(static_cast<size_t>(nnz));
  std::iota(order.begin(), order.end(), 0);
  auto compare = [&](int64_t a, int64_t b) {
    for (int64_t d = 0; d < rank; ++d) {
      if (const int64_t by = data[d * nnz + a] - data[d * nnz + b]) return by;
    }
    return int64_t{0};
  };
  stable_sort(order, [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  CountedVector<int64_t> kept, slot(static_cast<size_t>(nnz));
  for (int64_t k : order) {
    if (kept.empty() || compare(kept.back(), k) != 0) kept.push_back(k);
    slot[static_cast<size_t>(k)] = std::ssize(kept) - 1;
  }
  IntArray shape(parts.values.sizes());
  shape[0] = std::ssize(kept);
  const Tensor values = zeros(shape, self.dtype());
  index_put_(values, {from_blob(slot.data(), IntArray{nnz}, DType::kInt64)}, parts.values, true);
  const Tensor first = from_blob(kept.data(), IntArray{shape[0]}, DType::kInt64);
  return from_parts({index_select(indices, 1, first), values, true}, IntArray(self.sizes()));
}

namespace {

Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, const IntArray& size,
                         std::optional<DType> dtype, const Value&, const Value& device,
                         const Value&) {
  check_device(device);
  return make_sparse(indices, values.to(dtype.value_or(values.dtype())), size);
}

Tensor empty_sparse(const IntArray& size, int64_t sparse_dim, DType dtype) {
  IntArray shape{0};
  for (size_t d = static_cast<size_t>(sparse_dim); d < size.size(); ++d) shape.push_back(size[d]);
  return from_parts({empty(IntArray{sparse_dim, 0}, DType::kInt64), empty(shape, dtype), true},
                    size);
}

// Keeps the first sparse_dim dimensions sparse; a position is kept if anything there is not 0.
Tensor to_sparse(const Tensor& self, int64_t sparse_dim) {
  if (self.impl()->sparse) {
    SparseParts parts = parts_of(self);
    parts.layout = Layout::kSparse;
    return from_parts(std::move(parts), IntArray(self.sizes()));
  }
  TORCHLET_CHECK(sparse_dim > 0 && sparse_dim <= self.dim(),
                 "sparse_dim argument must be in [1, %lld] range, but %lld is given",
                 static_cast<long long>(self.dim()), static_cast<long long>(sparse_dim));
  Tensor present = self.to(DType::kBool);
  if (sparse_dim < self.dim()) {
    IntArray dense_dims;
    for (int64_t d = sparse_dim; d < self.dim(); ++d) dense_dims.push_back(d);
    present = sum(present, dense_dims).to(DType::kBool);
  }
  const Tensor positions = transpose(nonzero(present), 0, 1).contiguous();
  const Tensor values = index(self, unbind(positions, 0));
  return from_parts({positions, values, true}, IntArray(self.sizes()));
}

Tensor coalesced_part(const Tensor& self, bool indices) {
  const SparseParts& parts = parts_of(self);
  TORCHLET_CHECK(!indices || parts.layout == Layout::kSparse,
                 "a CSR matrix has crow_indices() and col_indices(), no indices()");
  TORCHLET_CHECK(parts.coalesced,
                 "Cannot get %s on an uncoalesced tensor, please call .coalesce() first",
                 indices ? "indices" : "values");
  return indices ? parts.indices : parts.values;
}

Tensor resize_and_clear(const Tensor& self, const IntArray& size, int64_t sparse_dim,
                        int64_t dense_dim) {
  TORCHLET_CHECK(sparse_dim >= 0 && dense_dim >= 0 && sparse_dim == std::ssize(size) - dense_dim,
                 "number of dimensions must be sparse_dim (%lld) + dense_dim (%lld), but got %zu",
                 static_cast<long long>(sparse_dim), static_cast<long long>(dense_dim),
                 size.size());
  parts_of(self);
  TensorImpl& impl = *self.impl();
  const Tensor cleared = empty_sparse(size, sparse_dim, impl.dtype);
  impl.sizes = cleared.impl()->sizes;
  impl.strides = cleared.impl()->strides;
  impl.numel = cleared.impl()->numel;
  impl.sparse = cleared.impl()->sparse;
  return self;
}

// The same matrix in CSR.
Tensor to_csr(const Tensor& self) {
  TORCHLET_CHECK(self.dim() == 2, "Only 2D tensors can be converted to the SparseCsr layout");
  const Tensor sparse = coalesce(to_sparse(self, 2));
  SparseParts parts = parts_of(sparse);
  TORCHLET_CHECK(parts.indices.size(0) == 2, "a sparse CSR matrix has no dense dimensions");
  parts.layout = Layout::kSparseCsr;
  return from_parts(std::move(parts), IntArray(self.sizes()));
}

const SparseParts& csr_parts_of(const Tensor& self) {
  const SparseParts& parts = parts_of(self);
  TORCHLET_CHECK(parts.layout == Layout::kSparseCsr, "expected a sparse CSR tensor, got %s",
                 self.describe().c_str());
  return parts;
}

// Where the values of each row begin, and the end of the last.
Tensor row_pointers(const Tensor& self) {
  const Tensor rows = select(csr_parts_of(self).indices, 0, 0).contiguous();
  const Tensor result = zeros(IntArray{self.size(0) + 1}, DType::kInt64);
  auto* begin = result.data_ptr<int64_t>();
  for (int64_t i = 0; i < rows.numel(); ++i) ++begin[rows.data_ptr<int64_t>()[i] + 1];
  for (int64_t row = 0; row < self.size(0); ++row) begin[row + 1] += begin[row];
  return result;
}

Tensor csr_from_rows(const Tensor& row_begins, const Tensor& columns, const Tensor& values,
                     std::optional<IntArray> sizes, std::optional<DType> dtype,
                     const Value& device) {
  check_device(device);
  const Tensor begins = row_begins.to(DType::kInt64).contiguous();
  TORCHLET_CHECK(begins.dim() == 1 && columns.dim() == 1 && begins.numel() > 0,
                 "crow_indices and col_indices must be vectors, got %s and %s",
                 row_begins.describe().c_str(), columns.describe().c_str());
  const auto* begin = begins.data_ptr<int64_t>();
  const int64_t count = begins.numel() - 1;
  TORCHLET_CHECK(begin[0] == 0 && begin[count] == columns.numel(),
                 "crow_indices must begin with 0 and end with the number of col_indices");
  const Tensor rows = empty(IntArray{columns.numel()}, DType::kInt64);
  for (int64_t row = 0; row < count; ++row) {
    TORCHLET_CHECK(begin[row] <= begin[row + 1] && begin[row + 1] <= columns.numel(),
                   "crow_indices must not decrease");
    std::fill(rows.data_ptr<int64_t>() + begin[row], rows.data_ptr<int64_t>() + begin[row + 1],
              row);
  }
  const Tensor positions = stack({rows, columns.to(DType::kInt64)}, 0);
  if (!sizes) sizes = IntArray{count, extent_of(positions)[1]};
  TORCHLET_CHECK(sizes->size() == 2 && (*sizes)[0] == count,
                 "crow_indices of %lld rows do not fit the size %s", static_cast<long long>(count),
                 shape_text(*sizes).c_str());
  return to_csr(make_sparse(positions, values.to(dtype.value_or(values.dtype())), sizes));
}

Tensor to_dense_as(const Tensor& self, std::optional<DType> dtype) {
  return to_dense(self).to(dtype.value_or(self.dtype()));
}

}  // namespace

TORCHLET_OP_WITH(sparse_coo_tensor_indices_size, may_alias(),
                 "aten::sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, "
                 "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
                 sparse_coo_tensor);
TORCHLET_OP(_sparse_coo_tensor_unsafe,
            "aten::_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, int[] size, "
            "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            sparse_coo_tensor);
TORCHLET_OP_WITH(sparse_coo_tensor_indices, may_alias(),
                 "aten::sparse_coo_tensor.indices(Tensor indices, Tensor values, "
                 "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
                 [](const Tensor& indices, const Tensor& values, std::optional<DType> dtype,
                    const Value&, const Value& device, const Value&) {
                   check_device(device);
                   return make_sparse(indices, values.to(dtype.value_or(values.dtype())),
                                      std::nullopt);
                 });
TORCHLET_OP_WITH(sparse_coo_tensor_size, may_alias(),
                 "aten::sparse_coo_tensor.size(int[] size, *, ScalarType? dtype=None, Layout? "
                 "layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
                 [](const IntArray& size, std::optional<DType> dtype, const Value&,
                    const Value& device, const Value&) {
                   check_device(device);
                   return empty_sparse(size, std::ssize(size), dtype.value_or(default_dtype()));
                 });
TORCHLET_OP_WITH(to_dense, may_alias(),
                 "aten::to_dense(Tensor self, ScalarType? dtype=None) -> Tensor", to_dense_as);
TORCHLET_OP_WITH(_to_dense, may_alias(),
                 "aten::_to_dense(Tensor self, ScalarType? dtype=None) -> Tensor", to_dense_as);
TORCHLET_OP(to_sparse_sparse_dim,
            "aten::to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", to_sparse);
TORCHLET_OP(to_sparse, "aten::to_sparse(Tensor self) -> Tensor",
            [](const Tensor& self) { return to_sparse(self, self.dim()); });
TORCHLET_OP(coalesce, "aten::coalesce(Tensor(a) self) -> Tensor(a)", coalesce);
TORCHLET_OP(_coalesce, "aten::_coalesce(Tensor self) -> Tensor", coalesce);
TORCHLET_OP(is_coalesced, "aten::is_coalesced(Tensor self) -> bool",
            [](const Tensor& self) { return parts_of(self).coalesced; });
TORCHLET_OP(_coalesced_, "aten::_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)",
            [](const Tensor& self, bool coalesced) {
              SparseParts parts = parts_of(self);
              parts.coalesced = coalesced;
              self.impl()->sparse = std::make_shared<const SparseParts>(std::move(parts));
              return self;
            });
TORCHLET_OP(_nnz, "aten::_nnz(Tensor self) -> int",
            [](const Tensor& self) { return parts_of(self).values.size(0); });
TORCHLET_OP(sparse_indices, "aten::indices(Tensor(a) self) -> Tensor(a)",
            [](const Tensor& self) { return coalesced_part(self, true); });
TORCHLET_OP(sparse_values, "aten::values(Tensor(a) self) -> Tensor(a)",
            [](const Tensor& self) { return coalesced_part(self, false); });
TORCHLET_OP(_indices, "aten::_indices(Tensor(a) self) -> Tensor(a)",
            [](const Tensor& self) { return parts_of(self).indices; });
TORCHLET_OP(_values, "aten::_values(Tensor(a) self) -> Tensor(a)",
            [](const Tensor& self) { return parts_of(self).values; });
TORCHLET_OP(sparse_dim, "aten::sparse_dim(Tensor self) -> int",
            [](const Tensor& self) { return parts_of(self).indices.size(0); });
TORCHLET_OP(dense_dim, "aten::dense_dim(Tensor self) -> int",
            [](const Tensor& self) { return parts_of(self).values.dim() - 1; });
TORCHLET_OP(sparse_resize_and_clear_,
            "aten::sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int "
            "dense_dim) -> Tensor(a!)",
            resize_and_clear);
TORCHLET_OP(_sparse_mm, "aten::_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", matmul);
TORCHLET_OP(_dimI, "aten::_dimI(Tensor self) -> int",
            [](const Tensor& self) { return parts_of(self).indices.size(0); });
TORCHLET_OP(_dimV, "aten::_dimV(Tensor self) -> int",
            [](const Tensor& self) { return parts_of(self).values.dim() - 1; });
TORCHLET_OP(to_sparse_csr, "aten::to_sparse_csr(Tensor self) -> Tensor", to_csr);
TORCHLET_OP(crow_indices, "aten::crow_indices(Tensor(a) self) -> Tensor(a)", row_pointers);
TORCHLET_OP(col_indices, "aten::col_indices(Tensor(a) self) -> Tensor(a)",
            [](const Tensor& self) { return select(csr_parts_of(self).indices, 0, 1); });
TORCHLET_OP(sparse_csr_tensor_size,
            "aten::sparse_csr_tensor.crow_col_value_size(Tensor crow_indices, Tensor col_indices, "
            "Tensor values, int[] size, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            [](const Tensor& rows, const Tensor& columns, const Tensor& values,
               const IntArray& size, std::optional<DType> dtype, const Value&, const Value& device,
               const Value&) { return csr_from_rows(rows, columns, values, size, dtype, device); });
TORCHLET_OP(sparse_csr_tensor,
            "aten::sparse_csr_tensor.crow_col_value(Tensor crow_indices, Tensor col_indices, "
            "Tensor values, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            [](const Tensor& rows, const Tensor& columns, const Tensor& values,
               std::optional<DType> dtype, const Value&, const Value& device, const Value&) {
              return csr_from_rows(rows, columns, values, std::nullopt, dtype, device);
            });
TORCHLET_OP(sparse_mask, "aten::sparse_mask(Tensor self, Tensor mask) -> Tensor",
            [](const Tensor& self, const Tensor& mask) {
              SparseParts parts = parts_of(coalesce(mask));
              parts.values = index(self, unbind(parts.indices, 0));
              return from_parts(std::move(parts), IntArray(mask.sizes()));
            });

}  // namespace torchlet::ops
