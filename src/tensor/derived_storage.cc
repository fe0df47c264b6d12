#include "tensor/derived_storage.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "base/content_hash.h"
#include "base/large_memory.h"
#include "base/selection.h"
#include "tensor/meta.h"

namespace torchlet {
namespace {

thread_local PassingScope* innermost = nullptr;

// Memory that the system has back as soon as it is not needed. The block cache would keep what the
// weights of a network took while they were packed, whose sizes seldom come again.
Ref<Storage> transient(size_t nbytes) {
  const TransientBlock block = PassingScope::take(nbytes);
  const std::shared_ptr<void> memory(block.data, [block](void*) { PassingScope::put_back(block); });
  return make_ref<Storage>(memory.get(), nbytes, memory);
}

}  // namespace

PassingScope::PassingScope() : outer_(std::exchange(innermost, this)) {}

PassingScope::~PassingScope() {
  innermost = outer_;
  large_delete(spare_.data, spare_.nbytes);
}

TransientBlock PassingScope::take(size_t nbytes) {
  if (innermost && innermost->spare_.nbytes >= nbytes && nbytes > 0) {
    return std::exchange(innermost->spare_, {});
  }
  return {large_new(nbytes), nbytes};
}

void PassingScope::put_back(TransientBlock block) {
  if (innermost && block.nbytes > innermost->spare_.nbytes) {
    std::swap(block, innermost->spare_);
  }
  large_delete(block.data, block.nbytes);
}

DerivedStorage::DerivedStorage(Tensor source, size_t nbytes, Derivation derivation,
                               uint64_t derivation_id)
    : Storage(Unmade(), nbytes),
      source_(std::move(source)),
      derivation_(std::move(derivation)),
      derivation_id_(derivation_id) {}

void DerivedStorage::derive(const Tensor& rows, int64_t first, std::byte* to) const {
  const MetaScope real(false);
  derivation_(rows, first, to);
}

void DerivedStorage::derive_all(std::byte* to) const {
  derive(torchlet::in_passing(source_), 0, to);
  torchlet::give_back(source_);
}

Ref<Storage> DerivedStorage::in_passing() {
  if (has_memory()) return Ref<Storage>(this);
  Ref<Storage> result = transient(nbytes());
  derive_all(result->data());
  return result;
}

std::byte* DerivedStorage::made() {
  const std::lock_guard lock(making_);
  if (has_memory()) return data();
  const MetaScope real(false);
  const Ref<Storage> derived = make_ref<Storage>(nbytes());
  derive_all(derived->data());
  return take_over(*derived);
}

uint64_t DerivedStorage::content_id(size_t, size_t) {
  if constexpr (!selection::kIsWhole) return 0;
  if (!derivation_id_ || has_memory()) return 0;
  ContentHash hash;
  hash.add(content_hash(source_));
  hash.add(derivation_id_);
  return hash.value();
}

Tensor derived_tensor(const Tensor& source, Derivation derivation, uint64_t derivation_id) {
  const size_t nbytes = static_cast<size_t>(source.numel()) * element_size(source.dtype());
  return make_tensor(make_ref<DerivedStorage>(source, nbytes, std::move(derivation), derivation_id),
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

namespace {

struct Window {
  size_t offset, nbytes;
};

// Of the storage, which the tensor has, that its elements lie in.
Window window_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  const size_t width = element_size(impl.dtype);
  const auto extent = static_cast<size_t>(checked_extent(impl.sizes, impl.strides));
  return {static_cast<size_t>(impl.storage_offset) * width, extent * width};
}

bool has_elements(const Tensor& tensor) {
  return tensor.defined() && tensor.impl()->storage && tensor.numel() > 0;
}

}  // namespace

void give_back(const Tensor& tensor) {
  if (!has_elements(tensor)) return;
  const auto [offset, nbytes] = window_of(tensor);
  tensor.impl()->storage->give_back(offset, nbytes);
}

namespace {

// The storage, if the tensor is what a derivation makes, row by row.
Ref<DerivedStorage> derived_by_rows(const Tensor& tensor) {
  if (!selection::kIsWhole || !has_elements(tensor)) return {};
  const TensorImpl& impl = *tensor.impl();
  auto* derived = dynamic_cast<DerivedStorage*>(impl.storage.get());
  const bool is_all = derived && !derived->has_memory() && impl.storage_offset == 0 &&
                      tensor.numel() == derived->source().numel() &&
                      tensor.size(0) == derived->source().size(0) && tensor.is_contiguous();
  return is_all ? Ref<DerivedStorage>(derived) : Ref<DerivedStorage>();
}

Tensor rows_of(const Tensor& tensor, int64_t first, int64_t end) {
  const TensorImpl& impl = *tensor.impl();
  auto sizes = impl.sizes;
  sizes[0] = end - first;
  Tensor rows = make_tensor(impl.storage, impl.dtype, sizes, impl.strides,
                            impl.storage_offset + first * impl.strides[0]);
  rows.impl()->quantizer = impl.quantizer;
  return rows;
}

}  // namespace

RowReader::RowReader(const Tensor& tensor) : derived_(derived_by_rows(tensor)) {
  if (derived_) {
    tensor_ = tensor;
    source_ = std::make_unique<RowReader>(derived_->source());
  } else {
    tensor_ = selection::kIsWhole ? in_passing(tensor) : tensor;
  }
}

RowReader::~RowReader() {
  if (selection::kIsWhole && !derived_) {
    tensor_.is_contiguous() ? give_back_until(read_) : torchlet::give_back(tensor_);
  }
  PassingScope::put_back(block_);
}

size_t RowReader::row_bytes() const {
  const int64_t rows = std::max<int64_t>(1, tensor_.size(0));
  return static_cast<size_t>(tensor_.numel() / rows) * element_size(tensor_.dtype());
}

void RowReader::give_back_until(int64_t row) {
  if (!has_elements(tensor_)) return;
  const TensorImpl& impl = *tensor_.impl();
  const size_t begin = static_cast<size_t>(impl.storage_offset) * element_size(impl.dtype);
  impl.storage->give_back(begin + static_cast<size_t>(given_back_) * row_bytes(),
                          static_cast<size_t>(row - given_back_) * row_bytes());
  given_back_ = row;
}

Tensor RowReader::rows(int64_t first, int64_t end) {
  if constexpr (!selection::kIsWhole) return rows_of(tensor_, first, end);
  if (!derived_) {
    if (read_ != first) given_back_ = first;
    // Seldom: it asks the system about pages.
    constexpr size_t kAtOnce = size_t{2} << 20;
    const size_t read_bytes = static_cast<size_t>(first - given_back_) * row_bytes();
    if (read_bytes >= kAtOnce && tensor_.is_contiguous()) give_back_until(first);
    read_ = end;
    return rows_of(tensor_, first, end);
  }
  const size_t nbytes = static_cast<size_t>(end - first) * row_bytes();
  if (nbytes > block_.nbytes) {
    PassingScope::put_back(std::exchange(block_, {}));
    block_ = PassingScope::take(nbytes);
  }
  derived_->derive(source_->rows(first, end), first, static_cast<std::byte*>(block_.data));
  auto sizes = tensor_.impl()->sizes;
  sizes[0] = end - first;
  return make_tensor(make_ref<Storage>(block_.data, nbytes, nullptr), tensor_.dtype(), sizes,
                     tensor_.impl()->strides, 0);
}

uint64_t content_hash(const Tensor& tensor) {
  ContentHash hash;
  hash.add(tensor.defined());
  if (!tensor.defined()) return hash.value();
  const TensorImpl& impl = *tensor.impl();
  hash.add(static_cast<uint64_t>(impl.dtype));
  const auto add = [&](const auto& numbers) { hash.add(std::as_bytes(std::span(numbers))); };
  add(impl.sizes);
  if (impl.quantizer) {
    const Quantizer& quantizer = *impl.quantizer;
    hash.add(static_cast<uint64_t>(quantizer.qscheme));
    hash.add(std::bit_cast<uint64_t>(quantizer.scale));
    hash.add(static_cast<uint64_t>(quantizer.zero_point));
    hash.add(static_cast<uint64_t>(quantizer.axis));
    for (const Tensor& part : {quantizer.scales, quantizer.zero_points})
      hash.add(content_hash(part));
  }
  if (!has_elements(tensor)) return hash.value();
  const auto [offset, nbytes] = window_of(tensor);
  if (const uint64_t id = impl.storage->content_id(offset, nbytes)) {
    hash.add(id);
    hash.add(offset);
    add(impl.strides);
  } else {
    const Tensor dense = in_passing(tensor).contiguous();
    hash.add(std::span(static_cast<const std::byte*>(dense.raw_data()),
                       static_cast<size_t>(dense.numel()) * element_size(impl.dtype)));
  }
  return hash.value();
}

}  // namespace torchlet
