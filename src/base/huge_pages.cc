#include "base/huge_pages.h"

#ifdef __linux__
#include <sys/mman.h>

#include <cstdint>
#endif

namespace torchlet {

void prefer_huge_pages(void* data, size_t nbytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr uintptr_t kPage = 4096, kHugePage = uintptr_t{2} << 20;
  if (nbytes < kHugePage) return;
  // Whole pages inside the memory; a system with larger ones refuses, which is no error.
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + kPage - 1) / kPage * kPage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + nbytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  static_cast<void>(data);
  static_cast<void>(nbytes);
#endif
}

}  // namespace torchlet
