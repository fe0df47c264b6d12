#include "device/cpu/memory_planner.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/sort.h"

namespace torchlet::cpu {
namespace {

constexpr int64_t kAlignment = 64;

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

int64_t plan_memory(std::span<Lifetime> buffers) {
  std::vector<int64_t> by_size(buffers.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  stable_sort(by_size, [&](int64_t a, int64_t b) {
    return buffers[static_cast<size_t>(a)].nbytes > buffers[static_cast<size_t>(b)].nbytes;
  });

  std::vector<const Lifetime*> placed;  // by offset
  int64_t total = 0;
  for (const int64_t at : by_size) {
    Lifetime& buffer = buffers[static_cast<size_t>(at)];
    // The lowest gap between those that live at the same time.
    int64_t offset = 0;
    for (const Lifetime* other : placed) {
      if (!overlap(buffer, *other)) continue;
      if (other->offset - offset >= buffer.nbytes) break;
      const int64_t end = other->offset + other->nbytes;
      offset = std::max(offset, (end + kAlignment - 1) / kAlignment * kAlignment);
    }
    buffer.offset = offset;
    total = std::max(total, offset + buffer.nbytes);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Lifetime::offset), &buffer);
  }
  return total;
}

int64_t most_alive(std::span<const Lifetime> buffers) {
  int last = 0;
  for (const Lifetime& buffer : buffers) last = std::max(last, buffer.last);
  std::vector<int64_t> change(static_cast<size_t>(last) + 2);
  for (const Lifetime& buffer : buffers) {
    change[static_cast<size_t>(buffer.first)] += buffer.nbytes;
    change[static_cast<size_t>(buffer.last) + 1] -= buffer.nbytes;
  }
  int64_t alive = 0, most = 0;
  for (const int64_t bytes : change) most = std::max(most, alive += bytes);
  return most;
}

}  // namespace torchlet::cpu
