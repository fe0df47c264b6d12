#include "neuralnetworks/api/handles.h"

#include <atomic>
#include <utility>

namespace torchlet::nn {
namespace {

// One sequence for all kinds, so that a handle of another kind is none. Multiples of 16 look like
// addresses to who tests their alignment. Where pointers have 32 bits it starts again after 268
// million objects.
uintptr_t next_handle() {
  static std::atomic<uintptr_t> last{0};
  return last.fetch_add(16, std::memory_order_relaxed) + 16;
}

}  // namespace

uintptr_t HandleTable::add(std::shared_ptr<void> object) {
  const std::lock_guard lock(mutex_);
  for (;;) {
    const uintptr_t handle = next_handle();
    if (handle != 0 && objects_.try_emplace(handle, object).second) return handle;
  }
}

std::shared_ptr<void> HandleTable::find(uintptr_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(handle);
  return found == objects_.end() ? nullptr : found->second;
}

std::shared_ptr<void> HandleTable::remove(uintptr_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(handle);
  if (found == objects_.end()) return nullptr;
  std::shared_ptr<void> object = std::move(found->second);
  objects_.erase(found);
  return object;
}

}  // namespace torchlet::nn
