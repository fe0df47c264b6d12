#include "device/cpu/arena.h"

#include <utility>

#include "base/large_memory.h"
#include "base/memory_use.h"

namespace torchlet::cpu {

void ArenaPool::Free::operator()(std::byte* data) const {
  large_delete(data, nbytes);
  note_memory(MemoryUse::kArenas, 0, nbytes);
}

ArenaPool::Lease::Lease(ArenaPool& pool, size_t nbytes) : pool_(pool) {
  {
    const std::lock_guard lock(pool.mutex_);
    if (!pool.idle_.empty()) {
      block_ = std::move(pool.idle_.back());
      pool.idle_.pop_back();
    }
  }
  if (block_ && block_.get_deleter().nbytes >= nbytes) return;
  block_.reset();  // before the larger one is taken
  block_ = Block(static_cast<std::byte*>(large_new(nbytes)), Free{nbytes});
  note_memory(MemoryUse::kArenas, nbytes);
}

ArenaPool::Lease::~Lease() {
  const std::lock_guard lock(pool_.mutex_);
  pool_.idle_.push_back(std::move(block_));
}

}  // namespace torchlet::cpu
