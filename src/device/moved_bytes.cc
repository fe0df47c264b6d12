#include "device/moved_bytes.h"

#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::device {

size_t bytes_of(std::span<const Value> values) {
  size_t bytes = 0;
  for (const Value& value : values) {
    if (value.is_list()) {
      bytes += bytes_of(value.list_ref().items);
    } else if (value.is_tensor() && value.tensor_impl()) {
      const TensorImpl& impl = *value.tensor_impl();
      bytes += static_cast<size_t>(impl.numel) * element_size(impl.dtype);
    }
  }
  return bytes;
}

}  // namespace torchlet::device
