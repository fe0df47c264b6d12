// What a tensor says about itself: sizes, strides, dtype and storage.
#include <algorithm>

#include "ops/core/op.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

bool is_signed(const Tensor& self) {
  const DType dtype = self.dtype();
  return dtype != DType::kUInt8 && dtype != DType::kBool && dtype != DType::kQUInt8;
}

bool is_nonzero(const Tensor& self) {
  TORCHLET_CHECK(self.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  TORCHLET_CHECK(self.numel() == 1,
                 "Boolean value of Tensor with more than one value is ambiguous");
  return scalar_of(self).to_bool();
}

bool is_set_to(const Tensor& self, const Tensor& tensor) {
  return self.impl()->storage == tensor.impl()->storage &&
         self.storage_offset() == tensor.storage_offset() &&
         std::ranges::equal(self.sizes(), tensor.sizes()) &&
         std::ranges::equal(self.strides(), tensor.strides());
}

Tensor shape_as_tensor(const Tensor& self) {
  const Tensor shape = empty(IntArray{self.dim()}, DType::kInt64);
  std::ranges::copy(self.sizes(), shape.data_ptr<int64_t>());
  return shape;
}

bool never(const Tensor&) { return false; }

}  // namespace

TORCHLET_OP_WITH(size, looks_at(LooksAt::kSizes) | never_raises(),
                 "aten::size(Tensor self) -> int[]",
                 [](const Tensor& self) { return IntArray(self.sizes()); });
TORCHLET_OP_WITH(size_int, looks_at(LooksAt::kSizes), "aten::size.int(Tensor self, int dim) -> int",
                 [](const Tensor& self, int64_t dim) { return self.size(dim); });
TORCHLET_OP_WITH(stride, looks_at(LooksAt::kStrides), "aten::stride(Tensor self) -> int[]",
                 [](const Tensor& self) { return IntArray(self.strides()); });
TORCHLET_OP_WITH(stride_int, looks_at(LooksAt::kStrides),
                 "aten::stride.int(Tensor self, int dim) -> int",
                 [](const Tensor& self, int64_t dim) { return self.stride(dim); });
TORCHLET_OP_WITH(dim, looks_at(LooksAt::kSizes) | never_raises(), "aten::dim(Tensor self) -> int",
                 [](const Tensor& self) { return self.dim(); });
TORCHLET_OP_WITH(len_Tensor, looks_at(LooksAt::kSizes), "aten::len.Tensor(Tensor t) -> int",
                 [](const Tensor& t) {
                   TORCHLET_CHECK(t.dim() > 0, "len() of a 0-d tensor");
                   return t.size(0);
                 });
TORCHLET_OP_WITH(numel, looks_at(LooksAt::kSizes) | never_raises(),
                 "aten::numel(Tensor self) -> int",
                 [](const Tensor& self) { return self.numel(); });
TORCHLET_OP(storage_offset, "aten::storage_offset(Tensor self) -> int",
            [](const Tensor& self) { return self.storage_offset(); });
TORCHLET_OP_WITH(element_size, looks_at(LooksAt::kDType), "aten::element_size(Tensor self) -> int",
                 [](const Tensor& self) {
                   return static_cast<int64_t>(element_size(self.dtype()));
                 });
TORCHLET_OP_WITH(is_contiguous, looks_at(LooksAt::kStrides),
                 "aten::is_contiguous(Tensor self) -> bool",
                 [](const Tensor& self) { return self.is_contiguous(); });
TORCHLET_OP_WITH(
    is_contiguous_memory_format, looks_at(LooksAt::kStrides),
    "aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
    [](const Tensor& self, MemoryFormat format) { return self.is_contiguous(format); });
TORCHLET_OP_WITH(is_strides_like_format, looks_at(LooksAt::kStrides),
                 "aten::is_strides_like_format(Tensor self, MemoryFormat memory_format) -> bool",
                 [](const Tensor& self, MemoryFormat format) {
                   return self.is_contiguous(format);
                 });
TORCHLET_OP_WITH(is_non_overlapping_and_dense, looks_at(LooksAt::kStrides),
                 "aten::is_non_overlapping_and_dense(Tensor self) -> bool", [](const Tensor& self) {
                   return is_non_overlapping_and_dense(self.sizes(), self.strides());
                 });
TORCHLET_OP_WITH(is_floating_point, looks_at(LooksAt::kDType) | never_raises(),
                 "aten::is_floating_point(Tensor self) -> bool",
                 [](const Tensor& self) { return is_floating_point(self.dtype()); });
TORCHLET_OP_WITH(is_complex, looks_at(LooksAt::kDType) | never_raises(),
                 "aten::is_complex(Tensor self) -> bool",
                 [](const Tensor& self) { return is_complex(self.dtype()); });
TORCHLET_OP_WITH(is_signed, looks_at(LooksAt::kDType), "aten::is_signed(Tensor self) -> bool",
                 is_signed);
TORCHLET_OP(is_nonzero, "aten::is_nonzero(Tensor self) -> bool", is_nonzero);
TORCHLET_OP(is_same_size, "aten::is_same_size(Tensor self, Tensor other) -> bool",
            [](const Tensor& self, const Tensor& other) {
              return std::ranges::equal(self.sizes(), other.sizes());
            });
TORCHLET_OP(is_set_to, "aten::is_set_to(Tensor self, Tensor tensor) -> bool", is_set_to);
TORCHLET_OP(_has_same_storage_numel,
            "aten::_has_same_storage_numel(Tensor self, Tensor other) -> bool",
            [](const Tensor& self, const Tensor& other) {
              auto count = [](const Tensor& t) {
                TORCHLET_CHECK(t.impl()->storage, "expected a strided tensor, got %s",
                               t.describe().c_str());
                return t.impl()->storage->nbytes() / element_size(t.dtype());
              };
              return count(self) == count(other);
            });
// Nothing here records gradients, so every tensor is a leaf.
TORCHLET_OP(is_leaf, "aten::is_leaf(Tensor self) -> bool", [](const Tensor&) { return true; });
// conj and neg are computed at once, so no tensor waits for either.
TORCHLET_OP(is_conj, "aten::is_conj(Tensor self) -> bool", never);
TORCHLET_OP(is_neg, "aten::is_neg(Tensor self) -> bool", never);
TORCHLET_OP(is_inference, "aten::is_inference(Tensor self) -> bool", never);
TORCHLET_OP(is_distributed, "aten::is_distributed(Tensor self) -> bool", never);
TORCHLET_OP(_is_zerotensor, "aten::_is_zerotensor(Tensor self) -> bool", never);
TORCHLET_OP(is_pinned, "aten::is_pinned(Tensor self, Device? device=None) -> bool",
            [](const Tensor&, const Value&) { return false; });
TORCHLET_OP(resolve_conj, "aten::resolve_conj(Tensor(a) self) -> Tensor(a)",
            [](const Tensor& self) { return self; });
TORCHLET_OP(resolve_neg, "aten::resolve_neg(Tensor(a) self) -> Tensor(a)",
            [](const Tensor& self) { return self; });
TORCHLET_OP(_shape_as_tensor, "aten::_shape_as_tensor(Tensor self) -> Tensor", shape_as_tensor);
}  // namespace torchlet::ops
