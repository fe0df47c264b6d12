#include "tensor/meta.h"

#include "base/checked.h"

namespace torchlet {

Tensor make_meta(DType dtype, IntSpan sizes, IntSpan strides, int64_t storage_offset,
                 std::shared_ptr<const Quantizer> quantizer) {
  const int64_t end = checked_add(storage_offset, checked_extent(sizes, strides));
  const auto nbytes = checked_mul(end, static_cast<int64_t>(element_size(dtype)));
  Tensor tensor = make_tensor(make_ref<Storage>(nullptr, static_cast<size_t>(nbytes), nullptr),
                              dtype, sizes, strides, storage_offset);
  tensor.impl()->quantizer = std::move(quantizer);
  return tensor;
}

Tensor meta_like(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return make_meta(impl.dtype, impl.sizes, impl.strides, 0, impl.quantizer);
}

}  // namespace torchlet
