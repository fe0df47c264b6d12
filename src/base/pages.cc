#include "base/pages.h"

#ifdef __linux__
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#endif

namespace torchlet {

#ifdef __linux__

namespace {
uintptr_t page_size() { return static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)); }
}  // namespace

void take_pages(void* data, size_t nbytes) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE: Linux 5.14, and not in older headers
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page_size() * page_size();
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + nbytes;
  madvise(reinterpret_cast<void*>(begin), end - begin, kPopulateWrite);
}

namespace {

// What the system says of the pages from number `begin` to `end`, in blocks: each(number of the
// first, entries) goes on as long as it gives true. False if it did not, or the system says no
// more. The kernel's documentation of /proc/PID/pagemap: 64 bits for each page.
template <typename F>
bool read_pagemap(uintptr_t begin, uintptr_t end, const F& each) {
  const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) return false;
  std::array<uint64_t, 512> entries;
  bool goes_on = true;
  for (uintptr_t at = begin; goes_on && at < end;) {
    const size_t asked = std::min(entries.size(), static_cast<size_t>(end - at));
    const ssize_t got = pread(pagemap, entries.data(), asked * sizeof(uint64_t),
                              static_cast<off_t>(at * sizeof(uint64_t)));
    goes_on = got == static_cast<ssize_t>(asked * sizeof(uint64_t)) &&
              each(at, std::span(entries).first(asked));
    at += asked;
  }
  close(pagemap);
  return goes_on;
}

constexpr uint64_t kIsInMemory = uint64_t{1} << 63, kIsSwapped = uint64_t{1} << 62,
                   kIsFiles = uint64_t{1} << 61;

template <typename F>
bool for_each_page(uintptr_t begin, uintptr_t end, const F& each) {
  return system_tells_of_pages() && read_pagemap(begin, end, each);
}

}  // namespace

bool system_tells_of_pages() {
  static const bool answer = [] {
    // Whether a page comes to memory when it is touched.
    void* const memory =
        mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    const uintptr_t page = reinterpret_cast<uintptr_t>(memory) / page_size();
    const auto is = [page](uint64_t bits) {
      return read_pagemap(page, page + 1, [bits](uintptr_t, std::span<const uint64_t> pages) {
        return (pages[0] & (kIsInMemory | kIsFiles)) == bits;
      });
    };
    const bool was_away = is(0);
    *static_cast<volatile char*>(memory) = 1;
    const bool has_come = is(kIsInMemory);
    munmap(memory, page_size());
    return was_away && has_come;
  }();
  return answer;
}

// A page that was written to is lost when it is let go.
void give_back_file_pages(const void* data, size_t nbytes) {
  const uintptr_t page = page_size();
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + nbytes) / page;
  for_each_page(begin, end, [&](uintptr_t at, std::span<const uint64_t> pages) {
    constexpr uint64_t kGoes = kIsInMemory | kIsFiles;
    for (size_t i = 0; i < pages.size();) {
      const size_t first = i;
      while (i < pages.size() && (pages[i] & kGoes) == kGoes) ++i;
      if (i > first) {
        madvise(reinterpret_cast<void*>((at + first) * page), (i - first) * page, MADV_DONTNEED);
      } else {
        ++i;
      }
    }
    return true;
  });
}

bool is_as_in_file(const void* data, size_t nbytes) {
  const uintptr_t page = page_size();
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + nbytes + page - 1) / page;
  return for_each_page(begin, end, [](uintptr_t, std::span<const uint64_t> pages) {
    return std::ranges::none_of(pages, [](uint64_t entry) {
      return (entry & kIsSwapped) || (entry & (kIsInMemory | kIsFiles)) == kIsInMemory;
    });
  });
}

void give_back_freed() {
#ifdef __GLIBC__
  // Where another allocator stands in for it (a sanitizer's, jemalloc), the C library's has not
  // been set up yet. malloc_trim() does that, but says so to other threads before it has
  // (glibc 2.36, ptmalloc_init): they would follow null pointers.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  malloc_trim(0);
#endif
}

#else

void take_pages(void*, size_t) {}
bool system_tells_of_pages() { return false; }
void give_back_file_pages(const void*, size_t) {}
bool is_as_in_file(const void*, size_t) { return false; }
void give_back_freed() {}

#endif

}  // namespace torchlet
