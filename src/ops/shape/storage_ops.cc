// Operators that give a tensor another storage or another size.
#include <algorithm>

#include "ops/core/op.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

using OptionalFormat = std::optional<MemoryFormat>;

Tensor set_source(const Tensor& self, const Tensor& source) {
  TORCHLET_CHECK(self.dtype() == source.dtype(), "set_: the source has dtype %s, self has %s",
                 dtype_name(source.dtype()).data(), dtype_name(self.dtype()).data());
  TORCHLET_CHECK(source.impl()->storage && self.impl()->storage, "set_ needs two strided tensors");
  self.impl()->storage = source.impl()->storage;
  become_view(self, source);
  return self;
}

Tensor set_source_strided(const Tensor& self, const Tensor& source, int64_t storage_offset,
                          const IntArray& size, const IntArray& stride) {
  const IntArray strides = stride.empty() ? contiguous_strides(size) : stride;
  return set_source(self, make_view(source, size, strides, storage_offset));
}

// Keeps the elements in storage order; new ones are not initialised.
Tensor resize_(const Tensor& self, const IntArray& size, OptionalFormat format) {
  TensorImpl& impl = *self.impl();
  TORCHLET_CHECK(impl.storage, "resize_ needs a strided tensor");
  if (!std::ranges::equal(impl.sizes, size)) {
    resize_output(self, size);
  }
  if (format && *format != MemoryFormat::kPreserve) impl.strides = strides_for(size, *format);
  return self;
}

Tensor resize_as_(const Tensor& self, const Tensor& other, OptionalFormat format) {
  if (format == MemoryFormat::kPreserve) format = other.suggest_memory_format();
  return resize_(self, IntArray(other.sizes()), format);
}

Tensor resize_output_(const Tensor& self, const IntArray& size, const Value&) {
  resize_output(self, size);
  return self;
}

}  // namespace

TORCHLET_OP_WITH(set_source_Tensor, changes_sizes() | changes_dtype(),
                 "aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)",
                 set_source);
TORCHLET_OP_WITH(set_source_Tensor_storage_offset, changes_sizes() | changes_dtype(),
                 "aten::set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, int "
                 "storage_offset, int[] size, int[] stride=[]) -> Tensor(a!)",
                 set_source_strided);
TORCHLET_OP_WITH(set_, changes_sizes() | changes_dtype(),
                 "aten::set_(Tensor(a!) self) -> Tensor(a!)", [](const Tensor& self) {
                   return set_source(self, empty(IntArray{0}, self.dtype()));
                 });
TORCHLET_OP_WITH(set_data, changes_sizes() | changes_dtype(),
                 "aten::set_data(Tensor(a!) self, Tensor new_data) -> ()",
                 [](const Tensor& self, const Tensor& data) {
                   self.impl()->dtype = data.dtype();
                   self.impl()->quantizer = data.impl()->quantizer;
                   set_source(self, data);
                 });
TORCHLET_OP_WITH(resize_, functional() | out("out") | changes_sizes(),
                 "aten::resize_(Tensor(a!) self, int[] size, *, MemoryFormat? "
                 "memory_format=None) -> Tensor(a!)",
                 resize_);
TORCHLET_OP_WITH(resize_as_, functional() | out("out") | changes_sizes(),
                 "aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? "
                 "memory_format=None) -> Tensor(a!)",
                 resize_as_);
TORCHLET_OP_WITH(_resize_output_, changes_sizes(),
                 "aten::_resize_output_(Tensor(a!) self, int[] size, Device device) -> Tensor(a!)",
                 resize_output_);

}  // namespace torchlet::ops
