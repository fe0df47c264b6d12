#include "tensor/derived_storage.h"

#include <utility>

#include "tensor/meta.h"

namespace torchlet {

DerivedStorage::DerivedStorage(Tensor source, size_t nbytes, Derivation derivation)
    : Storage(Unmade(), nbytes), source_(std::move(source)), derivation_(std::move(derivation)) {}

Ref<Storage> DerivedStorage::derived() const {
  const MetaScope real(false);
  Ref<Storage> result = make_ref<Storage>(nbytes());
  derivation_(torchlet::in_passing(source_), result->data());
  return result;
}

Ref<Storage> DerivedStorage::in_passing() { return has_memory() ? Ref<Storage>(this) : derived(); }

std::byte* DerivedStorage::made() {
  const std::lock_guard lock(making_);
  return has_memory() ? data() : take_over(*derived());
}

void DerivedStorage::give_back(size_t, size_t) { torchlet::give_back(source_); }

Tensor derived_tensor(const Tensor& source, Derivation derivation) {
  const size_t nbytes = static_cast<size_t>(source.numel()) * element_size(source.dtype());
  return make_tensor(make_ref<DerivedStorage>(source, nbytes, std::move(derivation)),
                     source.dtype(), source.sizes(),
                     strides_for(source.sizes(), MemoryFormat::kContiguous), 0);
}

Tensor in_passing(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.impl()->storage) return tensor;
  const TensorImpl& impl = *tensor.impl();
  Ref<Storage> storage = impl.storage->in_passing();
  if (storage.get() == impl.storage.get()) return tensor;
  Tensor result =
      make_tensor(std::move(storage), impl.dtype, impl.sizes, impl.strides, impl.storage_offset);
  result.impl()->quantizer = impl.quantizer;
  return result;
}

void give_back(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.impl()->storage || tensor.numel() == 0) return;
  const TensorImpl& impl = *tensor.impl();
  const size_t width = element_size(impl.dtype);
  const auto extent = static_cast<size_t>(checked_extent(impl.sizes, impl.strides));
  impl.storage->give_back(static_cast<size_t>(impl.storage_offset) * width, extent * width);
}

}  // namespace torchlet
