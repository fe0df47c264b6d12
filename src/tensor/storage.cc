#include "tensor/storage.h"

#include <algorithm>
#include <cstring>

#include "tensor/block_cache.h"

namespace torchlet {

Storage::Storage(size_t nbytes) : nbytes_(nbytes) {
  if (internal::making_meta) {
    check_block_size(nbytes);
    return;
  }
  charge_ = Charge(nbytes);
  data_ = allocate_block(nbytes);
  owned_ = true;
}

Storage::Storage(void* data, size_t nbytes, std::shared_ptr<void> keep_alive)
    : data_(static_cast<std::byte*>(data)), nbytes_(nbytes), keep_alive_(std::move(keep_alive)) {}

Storage::~Storage() {
  if (owned_) free_block(data_, nbytes_);
}

void Storage::resize(size_t nbytes) {
  Charge charge(nbytes);
  std::byte* bigger = allocate_block(nbytes);
  const size_t keep = std::min(nbytes, nbytes_);
  if (keep) std::memcpy(bigger, data_, keep);
  if (owned_) free_block(data_, nbytes_);
  data_ = bigger;
  nbytes_ = nbytes;
  owned_ = true;
  charge_ = std::move(charge);
}

}  // namespace torchlet
