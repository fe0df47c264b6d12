#include "ops/core/common.h"
#include "ops/sparse/sparse.h"

#include <algorithm>

#include "base/checked.h"
#include "base/selection.h"
#include "base/sort.h"
#include "ops/core/dense_order.h"

namespace torchlet::ops {

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  TORCHLET_CHECK(!is_quantized(a) && !is_quantized(b),
                 "promoteTypes with quantized numbers is not handled: got %s and %s",
                 dtype_name(a).data(), dtype_name(b).data());
  auto rank = [](DType t) {
    switch (t) {
      case DType::kBool:
        return 0;
      case DType::kUInt8:
        return 1;
      case DType::kInt8:
        return 2;
      case DType::kInt16:
        return 3;
      case DType::kInt32:
        return 4;
      case DType::kInt64:
        return 5;
      case DType::kFloat16:
        return 6;
      case DType::kBFloat16:
        return 7;
      case DType::kFloat32:
        return 8;
      case DType::kFloat64:
        return 9;
      case DType::kComplex32:
        return 10;
      case DType::kComplex64:
        return 11;
      default:
        return 12;
    }
  };
  if (rank(a) > rank(b)) std::swap(a, b);
  // Now b has the higher rank; three pairs have a common type above both.
  if (a == DType::kUInt8 && b == DType::kInt8) return DType::kInt16;
  if (a == DType::kFloat16 && b == DType::kBFloat16) return DType::kFloat32;
  if (b == DType::kComplex32) {
    if (a == DType::kFloat32 || a == DType::kBFloat16) return DType::kComplex64;
    if (a == DType::kFloat64) return DType::kComplex128;
  }
  if (b == DType::kComplex64 && a == DType::kFloat64) return DType::kComplex128;
  return b;
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating_point(from) && is_integral(to, false)) return false;
  return from == DType::kBool || to != DType::kBool;
}

void check_castable(DType from, DType to) {
  TORCHLET_CHECK(can_cast(from, to), "result type %s can't be cast to the desired output type %s",
                 dtype_name(from).data(), dtype_name(to).data());
}

ResultType& ResultType::add(const Tensor& tensor) {
  std::optional<DType>& kind = tensor.dim() > 0 ? dimensioned_ : zero_dim_;
  kind = kind ? promote_types(*kind, tensor.dtype()) : tensor.dtype();
  return *this;
}

ResultType& ResultType::add(const Scalar& scalar) {
  DType dtype = scalar.dtype();
  if (dtype == DType::kFloat64) dtype = default_dtype();
  if (dtype == DType::kComplex128) dtype = DType::kComplex64;
  scalar_ = scalar_ ? promote_types(*scalar_, dtype) : dtype;
  return *this;
}

DType ResultType::get() const {
  // at::native::combine_categories: a lower-priority operand counts only if its category is higher.
  auto combine = [](std::optional<DType> higher, std::optional<DType> lower) {
    if (!higher) return lower;
    if (!lower || is_complex(*higher)) return higher;
    if (is_floating_point(*higher)) {
      return is_complex(*lower) ? std::optional(promote_types(*higher, *lower)) : higher;
    }
    if (is_quantized(*higher)) return higher;
    if (*higher == DType::kBool || is_floating_point(*lower) || is_complex(*lower)) {
      return std::optional(promote_types(*higher, *lower));
    }
    return higher;
  };
  return combine(dimensioned_, combine(zero_dim_, scalar_)).value_or(default_dtype());
}

DType result_type(const Tensor& a, const Tensor& b) { return ResultType().add(a).add(b).get(); }
DType result_type(const Tensor& a, const Scalar& b) { return ResultType().add(a).add(b).get(); }

IntArray broadcast_shapes(IntSpan a, IntSpan b) {
  const size_t rank = std::max(a.size(), b.size());
  IntArray shape(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    TORCHLET_CHECK(
        x == y || x == 1 || y == 1,
        "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
        "dimension %zu",
        static_cast<long long>(x), static_cast<long long>(y), i);
    shape[i] = x == 1 ? y : x;
  }
  return shape;
}

Tensor expand(const Tensor& tensor, IntSpan sizes) {
  const TensorImpl& from = *tensor.impl();
  TORCHLET_CHECK(
      sizes.size() >= from.sizes.size(),
      "expand: the number of sizes provided (%zu) must be greater or equal to the number of "
      "dimensions in the tensor (%zu)",
      sizes.size(), from.sizes.size());
  const size_t lead = sizes.size() - from.sizes.size();
  IntArray shape(sizes), strides(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i < lead) {
      TORCHLET_CHECK(sizes[i] >= 0, "expand: a new dimension cannot have size -1");
      continue;
    }
    const int64_t own = from.sizes[i - lead];
    if (sizes[i] == -1 || sizes[i] == own) {
      shape[i] = own;
      strides[i] = from.strides[i - lead];
    } else {
      TORCHLET_CHECK(
          own == 1,
          "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
          "non-singleton dimension %zu",
          static_cast<long long>(sizes[i]), static_cast<long long>(own), i);
    }
  }
  return make_view(tensor, shape, strides, from.storage_offset);
}

IntArray normalize_dims(IntSpan dims, int64_t rank) {
  IntArray result;
  if (dims.empty()) {
    for (int64_t i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (int64_t dim : dims) result.push_back(wrap_dim(dim, rank));
  std::sort(result.begin(), result.end());
  for (size_t i = 1; i < result.size(); ++i) {
    TORCHLET_CHECK(result[i] != result[i - 1],
                   "dim %lld appears multiple times in the list of dims",
                   static_cast<long long>(result[i]));
  }
  if (rank == 0) result.clear();
  return result;
}

IntArray expand_param(IntSpan values, size_t count, const char* what) {
  if (values.size() == count) return IntArray(values);
  TORCHLET_CHECK(values.size() == 1,
                 "expected %s to be a single integer value or a list of %zu values, got %zu", what,
                 count, values.size());
  return IntArray(count, values[0]);
}

namespace {

IntArray infer_size(IntSpan sizes, int64_t numel) {
  IntArray shape(sizes);
  int64_t known = 1;
  std::optional<size_t> unknown;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      TORCHLET_CHECK(!unknown, "only one dimension can be inferred");
      unknown = i;
    } else {
      TORCHLET_CHECK(shape[i] >= 0, "invalid shape dimension %lld",
                     static_cast<long long>(shape[i]));
      TORCHLET_CHECK(!__builtin_mul_overflow(known, shape[i], &known), "shape overflows");
    }
  }
  if (unknown) {
    TORCHLET_CHECK(known != 0 && numel % known == 0,
                   known == 0
                       ? "cannot reshape tensor of %lld elements: the unspecified dimension size "
                         "-1 can be any value and is ambiguous"
                       : "shape is invalid for input of size %lld",
                   static_cast<long long>(numel));
    shape[*unknown] = numel / known;
  } else {
    TORCHLET_CHECK(known == numel, "shape of %lld elements is invalid for input of size %lld",
                   static_cast<long long>(known), static_cast<long long>(numel));
  }
  return shape;
}

// Strides of a view in `shape`, or nothing if memory would have to move
// (at::detail::computeStride).
std::optional<IntArray> view_strides(IntSpan old_sizes, IntSpan old_strides, IntSpan shape) {
  int64_t numel = 1;
  for (int64_t size : old_sizes) numel *= size;
  if (numel == 0) return contiguous_strides(shape);
  IntArray strides(shape.size());
  int64_t view_d = static_cast<int64_t>(shape.size()) - 1;
  if (old_sizes.empty()) {
    for (int64_t& stride : strides) stride = 1;
    return strides;
  }
  int64_t chunk_base = old_strides.back();
  int64_t tensor_numel = 1, view_numel = 1;
  for (int64_t d = static_cast<int64_t>(old_sizes.size()) - 1; d >= 0; --d) {
    const size_t i = static_cast<size_t>(d);
    tensor_numel *= old_sizes[i];
    // A chunk ends where the next outer dimension does not continue this one in memory.
    if (d == 0 || (old_sizes[i - 1] != 1 && old_strides[i - 1] != tensor_numel * chunk_base)) {
      while (view_d >= 0 &&
             (view_numel < tensor_numel || shape[static_cast<size_t>(view_d)] == 1)) {
        strides[static_cast<size_t>(view_d)] = view_numel * chunk_base;
        view_numel *= shape[static_cast<size_t>(view_d)];
        --view_d;
      }
      if (view_numel != tensor_numel) return std::nullopt;
      if (d > 0) {
        chunk_base = old_strides[i - 1];
        tensor_numel = view_numel = 1;
      }
    }
  }
  return view_d == -1 ? std::optional(strides) : std::nullopt;
}

}  // namespace

Tensor view(const Tensor& tensor, IntSpan sizes) {
  const IntArray shape = infer_size(sizes, tensor.numel());
  const auto strides = view_strides(tensor.sizes(), tensor.strides(), shape);
  TORCHLET_CHECK(
      strides,
      "view size is not compatible with input tensor's size and stride (at least one dimension "
      "spans across two contiguous subspaces). Use .reshape(...) instead.");
  return make_view(tensor, shape, *strides, tensor.storage_offset());
}

Tensor reshape(const Tensor& tensor, IntSpan sizes) {
  const IntArray shape = infer_size(sizes, tensor.numel());
  if (const auto strides = view_strides(tensor.sizes(), tensor.strides(), shape)) {
    return make_view(tensor, shape, *strides, tensor.storage_offset());
  }
  const Tensor copy = tensor.contiguous();
  return make_view(copy, shape, contiguous_strides(shape), copy.storage_offset());
}

std::optional<IntArray> dense_order(const Tensor& tensor) {
  if (!is_non_overlapping_and_dense(tensor.sizes(), tensor.strides())) return std::nullopt;
  IntArray order;
  for (int64_t d = 0; d < tensor.dim(); ++d) order.push_back(d);
  stable_sort(order, [&](int64_t a, int64_t b) { return tensor.stride(a) > tensor.stride(b); });
  return order;
}

IntArray inverse_order(const IntArray& order) {
  IntArray places = order;
  for (size_t i = 0; i < order.size(); ++i) {
    places[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return places;
}

Tensor permute(const Tensor& tensor, IntSpan dims) {
  const int64_t rank = tensor.dim();
  TORCHLET_CHECK(
      static_cast<int64_t>(dims.size()) == rank,
      "permute: number of dimensions in the tensor input does not match the length of the "
      "desired ordering of dimensions (%lld and %zu)",
      static_cast<long long>(rank), dims.size());
  IntArray sizes, strides;
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (int64_t dim : dims) {
    const size_t d = static_cast<size_t>(wrap_dim(dim, rank));
    TORCHLET_CHECK(!seen[d], "permute: duplicate dims are not allowed");
    seen[d] = true;
    sizes.push_back(tensor.sizes()[d]);
    strides.push_back(tensor.strides()[d]);
  }
  return make_view(tensor, sizes, strides, tensor.storage_offset());
}

Tensor transpose(const Tensor& tensor, int64_t dim0, int64_t dim1) {
  const size_t a = static_cast<size_t>(wrap_dim(dim0, tensor.dim()));
  const size_t b = static_cast<size_t>(wrap_dim(dim1, tensor.dim()));
  if (a == b) return make_view(tensor, tensor.sizes(), tensor.strides(), tensor.storage_offset());
  IntArray sizes(tensor.sizes()), strides(tensor.strides());
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  return make_view(tensor, sizes, strides, tensor.storage_offset());
}

Tensor select(const Tensor& tensor, int64_t dim, int64_t index) {
  TORCHLET_CHECK(tensor.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  const size_t d = static_cast<size_t>(wrap_dim(dim, tensor.dim()));
  const int64_t size = tensor.sizes()[d];
  TORCHLET_CHECK(index >= -size && index < size,
                 "select(): index %lld out of range for tensor of size %lld at dimension %zu",
                 static_cast<long long>(index), static_cast<long long>(size), d);
  if (index < 0) index += size;
  IntArray sizes(tensor.sizes()), strides(tensor.strides());
  const int64_t offset = tensor.storage_offset() + index * strides[d];
  sizes.erase(sizes.begin() + d);
  strides.erase(strides.begin() + d);
  return make_view(tensor, sizes, strides, offset);
}

Tensor slice(const Tensor& tensor, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step) {
  TORCHLET_CHECK(tensor.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  TORCHLET_CHECK(step > 0, "slice step must be positive");
  const size_t d = static_cast<size_t>(wrap_dim(dim, tensor.dim()));
  const int64_t size = tensor.sizes()[d];
  auto clamp = [size](int64_t i) {
    if (i < 0) i += size;
    return std::clamp<int64_t>(i, 0, size);
  };
  const int64_t first = clamp(start.value_or(0));
  const int64_t last = std::max(first, clamp(end.value_or(size)));
  IntArray sizes(tensor.sizes()), strides(tensor.strides());
  const int64_t offset = tensor.storage_offset() + first * strides[d];
  sizes[d] = (last - first) / step + ((last - first) % step != 0);
  if (sizes[d] > 1)
    TORCHLET_CHECK(!__builtin_mul_overflow(strides[d], step, &strides[d]), "slice step overflows");
  return make_view(tensor, sizes, strides, offset);
}

Tensor narrow(const Tensor& tensor, int64_t dim, int64_t start, int64_t length) {
  TORCHLET_CHECK(tensor.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  const int64_t size = tensor.size(dim);
  TORCHLET_CHECK(length >= 0, "narrow(): length must be non-negative.");
  TORCHLET_CHECK(start >= -size && start <= size, "start (%lld) out of range for size %lld",
                 static_cast<long long>(start), static_cast<long long>(size));
  if (start < 0) start += size;
  TORCHLET_CHECK(
      start <= size - length, "start (%lld) + length (%lld) exceeds dimension size (%lld).",
      static_cast<long long>(start), static_cast<long long>(length), static_cast<long long>(size));
  return slice(tensor, dim, start, start + length, 1);
}

Tensor squeeze(const Tensor& tensor, int64_t dim) {
  const size_t d = static_cast<size_t>(wrap_dim(dim, tensor.dim()));
  IntArray sizes(tensor.sizes()), strides(tensor.strides());
  if (tensor.dim() > 0 && sizes[d] == 1) {
    sizes.erase(sizes.begin() + d);
    strides.erase(strides.begin() + d);
  }
  return make_view(tensor, sizes, strides, tensor.storage_offset());
}

Tensor unsqueeze(const Tensor& tensor, int64_t dim) {
  const size_t d = static_cast<size_t>(wrap_dim(dim, tensor.dim() + 1));
  IntArray sizes(tensor.sizes()), strides(tensor.strides());
  const int64_t stride = d < sizes.size() ? sizes[d] * strides[d] : 1;
  sizes.insert(sizes.begin() + d, 1);
  strides.insert(strides.begin() + d, stride);
  return make_view(tensor, sizes, strides, tensor.storage_offset());
}

void become_view(const Tensor& tensor, const Tensor& view) {
  TensorImpl& impl = *tensor.impl();
  const TensorImpl& from = *view.impl();
  impl.sizes = from.sizes;
  impl.strides = from.strides;
  impl.storage_offset = from.storage_offset;
  impl.numel = from.numel;
  impl.sparse = from.sparse;
}

void resize_output(const Tensor& out, IntSpan sizes) {
  TensorImpl& impl = *out.impl();
  if (std::ranges::equal(impl.sizes, sizes)) return;
  TORCHLET_CHECK(impl.storage, "out= needs a strided tensor, this one is sparse or nested");
  TORCHLET_CHECK(!impl.quantizer || impl.quantizer->per_tensor(),
                 "a tensor quantized per channel cannot be resized for out=");
  const int64_t numel = checked_numel(sizes);
  const size_t needed = static_cast<size_t>(checked_mul(
      checked_add(impl.storage_offset, numel), static_cast<int64_t>(element_size(impl.dtype))));
  if (numel > 0 && impl.storage->nbytes() < needed) impl.storage->resize(needed);
  impl.sizes = sizes;
  impl.strides = contiguous_strides(sizes);
  impl.numel = numel;
}

void check_no_internal_overlap(const Tensor& target) {
  if (target.numel() == 0) return;
  for (size_t d = 0; d < target.sizes().size(); ++d) {
    TORCHLET_CHECK(
        target.strides()[d] != 0 || target.sizes()[d] == 1,
        "unsupported operation: more than one element of the written-to tensor %s refers "
        "to a single memory location; clone() it first",
        target.describe().c_str());
  }
}

Tensor assign(const Tensor& self, const Tensor& computed) {
  TORCHLET_CHECK(std::ranges::equal(computed.sizes(), self.sizes()),
                 "output with shape %s doesn't match the broadcast shape %s",
                 self.describe().c_str(), computed.describe().c_str());
  check_castable(computed.dtype(), self.dtype());
  if (self.impl()->sparse && computed.impl()->sparse) {
    self.impl()->sparse = computed.impl()->sparse;
    return self;
  }
  check_no_internal_overlap(self);
  if (!computed.is_same(self)) self.copy_(selection::kHasSparse ? to_dense(computed) : computed);
  return self;
}

Tensor wrapped_number(const Scalar& scalar) {
  DType dtype = scalar.dtype();
  if (dtype == DType::kFloat64) dtype = default_dtype();
  if (dtype == DType::kComplex128) dtype = DType::kComplex64;
  return scalar_tensor(scalar, dtype);
}

Tensor full(IntSpan sizes, const Scalar& value, DType dtype) {
  Tensor result = empty(sizes, dtype);
  fill(result, value);
  return result;
}

}  // namespace torchlet::ops
