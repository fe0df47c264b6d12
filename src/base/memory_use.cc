#include "base/memory_use.h"

#include <array>
#include <atomic>
#include <mutex>

namespace torchlet {
namespace {

constinit std::array<std::atomic<int64_t>, static_cast<size_t>(MemoryUse::kCount)> held{};

constinit std::mutex mutex;
constinit PlannedMemory largest;

}  // namespace

void memory_use::note(MemoryUse use, ptrdiff_t change) noexcept {
  held[static_cast<size_t>(use)].fetch_add(change, std::memory_order_relaxed);
}

int64_t noted_memory(MemoryUse use) noexcept {
  return held[static_cast<size_t>(use)].load(std::memory_order_relaxed);
}

void note_plan(const PlannedMemory& plan) noexcept {
  const std::lock_guard lock(mutex);
  if (plan.arena > largest.arena) largest = plan;
}

PlannedMemory largest_plan() noexcept {
  const std::lock_guard lock(mutex);
  return largest;
}

}  // namespace torchlet
