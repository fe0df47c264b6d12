#include "base/large_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/pages.h"
#include "base/sanitizers.h"
#include "base/selection.h"

namespace torchlet {
namespace {

constexpr size_t kAlignment = 64;
// Of fewer bytes the allocator's are as good.
constexpr size_t kLeastMapped = size_t{64} << 10;
// Address sanitizer sees what is done to the allocator's alone, and small builds have no room.
constexpr bool kMaps = selection::kIsWhole && !TORCHLET_ADDRESS_SANITIZER;

// Before mapped memory.
struct alignas(kAlignment) Header {
  Charge charge;
};

}  // namespace

void* large_new(size_t nbytes, size_t taken) {
  void* memory;
  const bool is_mapped = kMaps && nbytes >= kLeastMapped;
  if (!is_mapped) {
    memory = counted_new(nbytes, kAlignment);
  } else {
    Charge charge(nbytes);
    void* const block = nbytes > physical_memory()
                            ? MAP_FAILED
                            : mmap(nullptr, nbytes + sizeof(Header), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
      fail(ErrorCode::kOutOfMemory, "cannot allocate %zu bytes for weights or activations", nbytes);
    }
    memory = new (block) Header{std::move(charge)} + 1;
  }
  if (is_mapped) take_pages(memory, std::min(nbytes, taken));
  return memory;
}

void large_delete(void* memory, size_t nbytes) noexcept {
  if (!kMaps || nbytes < kLeastMapped || !memory) return counted_delete(memory, kAlignment);
  Header* const header = static_cast<Header*>(memory) - 1;
  header->~Header();
  munmap(header, nbytes + sizeof(Header));
}

}  // namespace torchlet
