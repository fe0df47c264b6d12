#include "device/cpu/packed_weights.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/build_id.h"
#include "base/content_hash.h"
#include "base/large_memory.h"
#include "base/memory_use.h"

namespace torchlet::cpu {

void PackingKey::add(double number) { words_.push_back(std::bit_cast<int64_t>(number)); }

void PackingKey::add(const Tensor& tensor) {
  add(tensor.defined());
  if (!tensor.defined()) return;
  const TensorImpl& impl = *tensor.impl();
  storages_.push_back(impl.storage);
  if constexpr (selection::kIsWhole) addresses_.push_back({words_.size(), &tensor});
  add(reinterpret_cast<uintptr_t>(impl.storage.get()));
  add(impl.storage_offset);
  add(impl.dtype);
  add(impl.sizes.size());
  for (const int64_t size : impl.sizes) add(size);
  for (const int64_t stride : impl.strides) add(stride);
  add(impl.quantizer != nullptr);
  if (!impl.quantizer) return;
  const Quantizer& quantizer = *impl.quantizer;
  add(quantizer.qscheme);
  add(quantizer.scale);
  add(quantizer.zero_point);
  add(quantizer.scales);
  add(quantizer.zero_points);
  add(quantizer.axis);
}

void PackingKey::add(const kernels::AffineQ8& affine) {
  const auto& [scale, zero_point] = affine;
  add(scale);
  add(zero_point);
}

// The bindings of all members fail to compile when a shape gets another one.
void PackingKey::add(const kernels::Window2dShape& window) {
  const auto& [in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w,
               dilation_h, dilation_w] = window;
  for (const int64_t number :
       {kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w}) {
    add(number);
  }
}
void PackingKey::add(const LayerForm<kernels::ConvNhwcShape>& layer) {
  const auto& [batch, in_channels, out_channels, groups, window, winograd, lean, strassen, weights] =
      layer.shape;
  for (const int64_t number : {in_channels, out_channels, groups}) add(number);
  add(window);
  add(winograd);
  add(lean);
  add(strassen);
  add(weights);
  add(layer.form);
}
void PackingKey::add(const LayerForm<kernels::Conv3dNhwcShape>& layer) {
  const auto& [batch, in_channels, out_channels, groups, transposed, depth, height, width] =
      layer.shape;
  for (const int64_t number : {in_channels, out_channels, groups}) add(number);
  add(transposed);
  for (const kernels::WindowAxis& axis : {depth, height, width}) {
    const auto& [in, out, kernel, stride, pad, dilation] = axis;
    for (const int64_t number : {kernel, stride, pad, dilation}) add(number);
  }
  add(layer.form);
}
void PackingKey::add(const LayerForm<kernels::DwConvShape>& layer) {
  const auto& [batch, channels, window, group] = layer.shape;
  add(channels);
  add(group);
  add(window);
  add(layer.form);
}
void PackingKey::add(const LayerForm<kernels::Conv2dShape>& layer) {
  const auto& [batch, in_channels, out_channels, groups, window, lean] = layer.shape;
  for (const int64_t number : {in_channels, out_channels, groups}) add(number);
  add(window);
  add(lean);
  add(layer.form);
}

namespace {

std::shared_ptr<std::byte> allocate(size_t nbytes) {
  // More of them would be there at once with the weights that they are packed from: who packs more
  // takes it piece by piece, as those go back to the file.
  constexpr size_t kTaken = size_t{1} << 20;
  auto* const memory = static_cast<std::byte*>(large_new(nbytes, kTaken));
  note_memory(MemoryUse::kPackedWeights, nbytes);
  return {memory, [nbytes](std::byte* data) {
            large_delete(data, nbytes);
            note_memory(MemoryUse::kPackedWeights, 0, nbytes);
          }};
}

}  // namespace

uint64_t PackingKey::content() const {
  ContentHash hash;
  hash.add(place_in_build(static_cast<uintptr_t>(words_[0])));
  size_t at = 1;
  const auto add_until = [&](size_t end) {
    for (; at < end; ++at) hash.add(static_cast<uint64_t>(words_[at]));
  };
  for (const Address& address : addresses_) {
    add_until(address.at);
    hash.add(content_hash(*address.tensor));
    ++at;
  }
  add_until(words_.size());
  return hash.value();
}

std::shared_ptr<const void> PackedWeights::find_or_pack(PackingKey key, size_t nbytes,
                                                        FunctionRef<void(void*)> pack) {
  const std::lock_guard lock(mutex_);
  if (const auto known = entries_.find(key.words_); known != entries_.end()) {
    if (auto packed = known->second.packed.lock()) return packed;
  }
  forget_unreachable();
  std::shared_ptr<const void> packed = read_or_pack(key, nbytes, pack);
  entries_[std::move(key.words_)] = {std::move(key.storages_), packed};
  return packed;
}

std::shared_ptr<const void> PackedWeights::read_or_pack(const PackingKey& key, size_t nbytes,
                                                        FunctionRef<void(void*)> pack) {
  uint64_t content = 0;
  if constexpr (selection::kIsWhole) {
    if (cache_) {
      content = key.content();
      if (auto read = cache_->find(content, nbytes)) return read;
    }
  }
  std::shared_ptr<std::byte> packed = allocate(nbytes);
  pack(packed.get());
  if constexpr (selection::kIsWhole) {
    if (cache_) cache_->add(content, packed, nbytes);
  }
  return packed;
}

// Packed weights that no plan holds, and those of memory that nobody can ask for again.
void PackedWeights::forget_unreachable() {
  std::unordered_map<const Storage*, size_t> held;
  for (const auto& [key, entry] : entries_) {
    for (const Ref<Storage>& storage : entry.storages) ++held[storage.get()];
  }
  std::erase_if(entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    return entry.packed.expired() ||
           std::ranges::any_of(entry.storages, [&](const Ref<Storage>& storage) {
             return storage->use_count() == held[storage.get()];
           });
  });
}

}  // namespace torchlet::cpu
