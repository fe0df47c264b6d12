#include "kernels/simd/caches.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

namespace torchlet::kernels {
namespace {

constexpr int64_t kLarge = int64_t{1} << 20;

std::atomic<int64_t> second_level{0};  // bytes, kLarge at most; 0: not asked yet

#if defined(__linux__)
[[gnu::cold]] int64_t read_number(long core, int index, const char* name) {
  char path[96];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index%d/%s", core, index,
                name);
  long number = 0;
  if (std::FILE* file = std::fopen(path, "re")) {
    if (std::fscanf(file, "%ld", &number) != 1) number = 0;
    std::fclose(file);
  }
  return number;
}

// What C libraries do not tell on Arm. What takes long runs on the cores with the largest cache.
[[gnu::cold]] int64_t ask_kernel() {
  int64_t most = 0;
  for (long core = 0; core < sysconf(_SC_NPROCESSORS_CONF); ++core) {
    for (int index = 0; index < 4; ++index) {
      if (read_number(core, index, "level") != 2) continue;
      most = std::max(most, read_number(core, index, "size") << 10);  // "512K"
    }
  }
  return most;
}
#endif

// Apple's processors have more than kLarge.
int64_t ask_system() {
  int64_t size = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  size = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
#if defined(__linux__)
  if (size <= 0) size = ask_kernel();
#endif
  return size;
}

}  // namespace

int64_t cached(int64_t bytes) {
  if (second_level.load(std::memory_order_relaxed) == 0) set_cache(ask_system());
  return bytes * second_level.load(std::memory_order_relaxed) / kLarge;
}

void set_cache(int64_t size) {
  second_level.store(size <= 0 ? kLarge : std::clamp(size, kLarge / 8, kLarge),
                     std::memory_order_relaxed);
}

}  // namespace torchlet::kernels
