// Operators that cut a tensor into views along a dimension.
#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

// Room for the views that a tensor is cut into.
std::vector<Tensor> room_for(int64_t count) {
  require_memory(count, sizeof(TensorImpl) + sizeof(Tensor), "parts of a tensor");
  std::vector<Tensor> parts;
  parts.reserve(static_cast<size_t>(count));
  return parts;
}

}  // namespace

std::vector<Tensor> split_with_sizes(const Tensor& self, const IntArray& sizes, int64_t dim) {
  TORCHLET_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  const int64_t length = self.size(dim);
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    TORCHLET_CHECK(size >= 0,
                   "split_with_sizes expects split_sizes have only non-negative entries, got %lld",
                   static_cast<long long>(size));
    TORCHLET_CHECK(size <= length - start,
                   "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's "
                   "size at dimension %lld), got more",
                   static_cast<long long>(length), static_cast<long long>(dim));
    parts.push_back(narrow(self, dim, start, size));
    start += size;
  }
  TORCHLET_CHECK(start == length,
                 "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size "
                 "at dimension %lld), got %lld",
                 static_cast<long long>(length), static_cast<long long>(dim),
                 static_cast<long long>(start));
  return parts;
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  TORCHLET_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  TORCHLET_CHECK(split_size >= 0, "split expects split_size be non-negative, but got %lld",
                 static_cast<long long>(split_size));
  const int64_t length = self.size(dim);
  TORCHLET_CHECK(split_size > 0 || length == 0,
                 "split_size can only be 0 if dimension size is 0, but got dimension size of %lld",
                 static_cast<long long>(length));
  if (length == 0) return {narrow(self, dim, 0, 0)};
  const int64_t count = (length - 1) / split_size + 1;
  std::vector<Tensor> parts = room_for(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = i * split_size;
    parts.push_back(narrow(self, dim, start, std::min(split_size, length - start)));
  }
  return parts;
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  TORCHLET_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  TORCHLET_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: %lld",
                 static_cast<long long>(chunks));
  const int64_t length = self.size(dim);
  // An empty dimension still gives as many (empty) chunks as asked for.
  if (length == 0) {
    std::vector<Tensor> parts = room_for(chunks);
    for (int64_t i = 0; i < chunks; ++i) parts.push_back(narrow(self, dim, 0, 0));
    return parts;
  }
  return split(self, length / chunks + (length % chunks != 0), dim);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  if (self.impl()->nested) {
    TORCHLET_CHECK(dim == 0, "a nested tensor is unbound along dimension 0 only");
    return *self.impl()->nested;
  }
  const int64_t length = self.size(dim);
  std::vector<Tensor> parts = room_for(length);
  for (int64_t i = 0; i < length; ++i) parts.push_back(select(self, dim, i));
  return parts;
}

namespace {

// Python slices between the indices: out-of-range ones clamp.
std::vector<Tensor> split_at(const Tensor& self, const IntArray& indices, int64_t dim) {
  TORCHLET_CHECK(self.dim() > 0,
                 "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 "
                 "dims");
  wrap_dim(dim, self.dim());
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t end : indices) {
    parts.push_back(slice(self, dim, start, end, 1));
    start = end;
  }
  parts.push_back(slice(self, dim, start, std::nullopt, 1));
  return parts;
}

// The first length % sections parts are one longer than the others.
std::vector<Tensor> split_evenly(const Tensor& self, int64_t sections, int64_t dim) {
  TORCHLET_CHECK(self.dim() > 0,
                 "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 "
                 "dims");
  TORCHLET_CHECK(sections > 0, "number of sections must be larger than 0, got %lld",
                 static_cast<long long>(sections));
  const int64_t length = self.size(dim);
  std::vector<Tensor> parts = room_for(sections);
  int64_t start = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t size = length / sections + (i < length % sections ? 1 : 0);
    parts.push_back(narrow(self, dim, start, size));
    start += size;
  }
  return parts;
}

std::vector<Tensor> tensor_split_by(const Tensor& self, const Tensor& where, int64_t dim) {
  TORCHLET_CHECK(where.dtype() == DType::kInt64 && where.dim() <= 1,
                 "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                 "one-dimensional tensor of dtype long, but got %s",
                 where.describe().c_str());
  if (where.dim() == 0) return split_evenly(self, where.item<int64_t>(), dim);
  const Tensor dense = where.contiguous();
  const int64_t* data = dense.data_ptr<int64_t>();
  return split_at(self, IntArray(data, data + dense.numel()), dim);
}

// hsplit, vsplit and dsplit cut dimension `dim` and want a tensor of at least `rank` dimensions.
void check_rank(const Tensor& self, int64_t rank, const char* name) {
  TORCHLET_CHECK(self.dim() >= rank,
                 "torch.%s requires a tensor with at least %lld dimension, but got a tensor with "
                 "%lld dimensions!",
                 name, static_cast<long long>(rank), static_cast<long long>(self.dim()));
}

std::vector<Tensor> split_exactly(const Tensor& self, int64_t sections, int64_t dim,
                                  const char* name) {
  const int64_t length = self.size(dim);
  TORCHLET_CHECK(sections > 0 && length % sections == 0,
                 "torch.%s attempted to split along dimension %lld, but the size of the dimension "
                 "%lld is not divisible by the split_size %lld!",
                 name, static_cast<long long>(dim), static_cast<long long>(length),
                 static_cast<long long>(sections));
  return split_evenly(self, sections, dim);
}

constexpr const char* kSplitName[] = {"", "hsplit", "vsplit", "dsplit"};

// hsplit cuts columns (dimension 1, or 0 of a vector), vsplit rows, dsplit dimension 2.
template <int64_t kRank>
int64_t split_dim(const Tensor& self) {
  check_rank(self, kRank, kSplitName[kRank]);
  if (kRank == 1) return self.dim() > 1 ? 1 : 0;
  return kRank == 2 ? 0 : 2;
}

template <int64_t kRank>
std::vector<Tensor> named_split(const Tensor& self, int64_t sections) {
  return split_exactly(self, sections, split_dim<kRank>(self), kSplitName[kRank]);
}

template <int64_t kRank>
std::vector<Tensor> named_split_at(const Tensor& self, const IntArray& indices) {
  return split_at(self, indices, split_dim<kRank>(self));
}

}  // namespace

TORCHLET_OP_WITH(split_Tensor, copied(),
                 "aten::split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> "
                 "Tensor(a)[]",
                 split);
TORCHLET_OP(split_sizes,
            "aten::split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]",
            split_with_sizes);
TORCHLET_OP(split, "aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
            split_with_sizes);
TORCHLET_OP_WITH(
    split_with_sizes, copied(),
    "aten::split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    split_with_sizes);
TORCHLET_OP_WITH(unsafe_split_Tensor, may_alias(),
                 "aten::unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]",
                 split);
TORCHLET_OP_WITH(
    unsafe_split_with_sizes, may_alias(),
    "aten::unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
    split_with_sizes);
TORCHLET_OP(chunk, "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", chunk);
TORCHLET_OP_WITH(unsafe_chunk, may_alias(),
                 "aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", chunk);
TORCHLET_OP_WITH(unbind_int, copied(),
                 "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", unbind);
TORCHLET_OP(
    tensor_split_sections,
    "aten::tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]",
    split_evenly);
TORCHLET_OP(
    tensor_split_indices,
    "aten::tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]",
    split_at);
TORCHLET_OP(tensor_split_tensor,
            "aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor "
            "tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
            tensor_split_by);
TORCHLET_OP(hsplit_int, "aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
            named_split<1>);
TORCHLET_OP(hsplit_array, "aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
            named_split_at<1>);
TORCHLET_OP(vsplit_int, "aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
            named_split<2>);
TORCHLET_OP(vsplit_array, "aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
            named_split_at<2>);
TORCHLET_OP(dsplit_int, "aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
            named_split<3>);
TORCHLET_OP(dsplit_array, "aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
            named_split_at<3>);

}  // namespace torchlet::ops
