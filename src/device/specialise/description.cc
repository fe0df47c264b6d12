#include "device/specialise/description.h"

#include "tensor/meta.h"

namespace torchlet::device {

TensorDescription describe(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return {impl.dtype, impl.sizes, impl.strides, impl.quantizer};
}

Tensor meta_tensor(const TensorDescription& d) {
  return make_meta(d.dtype, d.sizes, d.strides, 0, d.quantizer);
}

}  // namespace torchlet::device
