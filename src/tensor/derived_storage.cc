#include "tensor/derived_storage.h"

#include <utility>

#include "base/large_memory.h"
#include "tensor/meta.h"

namespace torchlet {
namespace {

// Memory that the system has back as soon as it is not needed. The block cache would keep what the
// weights of a network took while they were packed, whose sizes seldom come again.
Ref<Storage> transient(size_t nbytes) {
  const std::shared_ptr<void> memory(large_new(nbytes),
                                     [nbytes](void* data) { large_delete(data, nbytes); });
  return make_ref<Storage>(memory.get(), nbytes, memory);
}

}  // namespace

DerivedStorage::DerivedStorage(Tensor source, size_t nbytes, Derivation derivation)
    : Storage(Unmade(), nbytes), source_(std::move(source)), derivation_(std::move(derivation)) {}

void DerivedStorage::derive(std::byte* to) const {
  const MetaScope real(false);
  derivation_(torchlet::in_passing(source_), to);
}

Ref<Storage> DerivedStorage::in_passing() {
  if (has_memory()) return Ref<Storage>(this);
  Ref<Storage> result = transient(nbytes());
  derive(result->data());
  return result;
}

std::byte* DerivedStorage::made() {
  const std::lock_guard lock(making_);
  if (has_memory()) return data();
  const MetaScope real(false);
  const Ref<Storage> derived = make_ref<Storage>(nbytes());
  derive(derived->data());
  return take_over(*derived);
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
