#include "tensor/storage.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/error.h"

namespace torchlet {
namespace {

constexpr size_t kAlignment = 64;

// Overcommitting systems grant any request and kill the process when the pages are touched, so a
// request that cannot be met is refused here.
size_t physical_memory() {
  static const size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  return bytes;
}

std::byte* allocate(size_t nbytes) {
  if (nbytes == 0) return nullptr;
  if (nbytes > physical_memory()) {
    fail(ErrorCode::kOutOfMemory,
         format("a tensor of %zu bytes does not fit into the %zu bytes of memory here", nbytes,
                physical_memory()));
  }
  void* data = ::operator new (nbytes, std::align_val_t{kAlignment}, std::nothrow);
  if (!data)
    fail(ErrorCode::kOutOfMemory, format("cannot allocate %zu bytes for a tensor", nbytes));
  return static_cast<std::byte*>(data);
}

void deallocate(std::byte* data) {
  if (data) ::operator delete (data, std::align_val_t{kAlignment});
}

}  // namespace

Storage::Storage(size_t nbytes) : data_(allocate(nbytes)), nbytes_(nbytes), owned_(true) {}

Storage::Storage(void* data, size_t nbytes, std::shared_ptr<void> keep_alive)
    : data_(static_cast<std::byte*>(data)), nbytes_(nbytes), keep_alive_(std::move(keep_alive)) {}

Storage::~Storage() {
  if (owned_) deallocate(data_);
}

void Storage::resize(size_t nbytes) {
  std::byte* bigger = allocate(nbytes);
  const size_t keep = nbytes < nbytes_ ? nbytes : nbytes_;
  if (keep) std::memcpy(bigger, data_, keep);
  if (owned_) deallocate(data_);
  data_ = bigger;
  nbytes_ = nbytes;
  owned_ = true;
}

}  // namespace torchlet
