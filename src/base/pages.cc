#include "base/pages.h"

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#endif

namespace torchlet {

#ifdef __linux__

void prefer_huge_pages(void* data, size_t nbytes) {
#ifdef MADV_HUGEPAGE
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

void give_back_file_pages(const void* data, size_t nbytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + nbytes) / page;
  if (begin >= end) return;
  // A page that was written to is lost when it is let go. The kernel's documentation of
  // /proc/PID/pagemap: 64 bits for each page, 63 set if it is in memory and 61 if it is a file's.
  constexpr uint64_t kIsFiles = uint64_t{1} << 63 | uint64_t{1} << 61;
  const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) return;
  std::array<uint64_t, 512> pages;
  for (uintptr_t at = begin; at < end;) {
    const size_t asked = std::min(pages.size(), static_cast<size_t>(end - at));
    const ssize_t got = pread(pagemap, pages.data(), asked * sizeof(uint64_t),
                              static_cast<off_t>(at * sizeof(uint64_t)));
    if (got < static_cast<ssize_t>(asked * sizeof(uint64_t))) break;
    for (size_t i = 0; i < asked;) {
      const size_t first = i;
      while (i < asked && (pages[i] & kIsFiles) == kIsFiles) ++i;
      if (i > first) {
        madvise(reinterpret_cast<void*>((at + first) * page), (i - first) * page, MADV_DONTNEED);
      } else {
        ++i;
      }
    }
    at += asked;
  }
  close(pagemap);
}

#else

void prefer_huge_pages(void*, size_t) {}
void give_back_file_pages(const void*, size_t) {}

#endif

}  // namespace torchlet
