#include "tensor/storage.h"

#include <algorithm>
#include <cstring>

#include "base/pages.h"
#include "base/selection.h"
#include "tensor/block_cache.h"

namespace torchlet {

Storage::Storage(size_t nbytes) : nbytes_(nbytes) {
  if (internal::making_meta) {
    check_block_size(nbytes);
    is_meta_ = nbytes > 0;
    return;
  }
  charge_ = Charge(nbytes);
  data_ = allocate_block(nbytes);
  owned_ = true;
}

Storage::Storage(void* data, size_t nbytes, std::shared_ptr<void> keep_alive)
    : data_(static_cast<std::byte*>(data)),
      nbytes_(nbytes),
      is_meta_(!data && nbytes > 0),
      keep_alive_(std::move(keep_alive)) {}

Storage::~Storage() {
  if (owned_) free_block(data_, nbytes_);
}

void Storage::resize(size_t nbytes) {
  Charge charge(nbytes);
  std::byte* bigger = allocate_block(nbytes);
  const size_t keep = std::min(nbytes, nbytes_);
  if (keep) std::memcpy(bigger, data(), keep);
  if (owned_) free_block(data_, nbytes_);
  data_ = bigger;
  nbytes_ = nbytes;
  owned_ = true;
  is_meta_ = false;
  charge_ = std::move(charge);
}

Ref<Storage> Storage::in_passing() { return Ref<Storage>(this); }

void Storage::give_back(size_t offset, size_t nbytes) {
  if constexpr (!selection::kIsWhole) return;  // device/cpu/packed_weights.h says why
  if (!owned_ && has_memory()) give_back_file_pages(data_ + offset, nbytes);
}

uint64_t Storage::content_id(size_t offset, size_t nbytes) {
  if constexpr (!selection::kIsWhole) return 0;  // nobody asks
  if (!content_id_ || owned_ || !is_as_in_file(data_ + offset, nbytes)) return 0;
  return content_id_;
}

std::byte* Storage::take_over(Storage& made) {
  charge_ = std::move(made.charge_);
  owned_ = std::exchange(made.owned_, false);
  std::byte* data = made.data_.exchange(nullptr);
  data_.store(data, std::memory_order_release);
  return data;
}

}  // namespace torchlet
