#include "tensor/block_cache.h"

#include <bit>
#include <mutex>
#include <new>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "base/memory_use.h"
#include "base/sanitizers.h"

namespace torchlet {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kLeastKept = size_t{64} << 10;
#if TORCHLET_ADDRESS_SANITIZER
constexpr size_t kMostKept = 0;  // the sanitizer sees a use of freed memory only if it is freed
#else
constexpr size_t kMostKept = size_t{32} << 20;
#endif

// Sizes that differ by less than an eighth share their blocks.
size_t capacity_for(size_t nbytes) {
  if (nbytes < kLeastKept) return nbytes;
  const size_t step = std::bit_floor(nbytes) / 8;
  return (nbytes + step - 1) / step * step;
}

std::byte* system_allocate(size_t nbytes) {
  return static_cast<std::byte*>(
      ::operator new (nbytes, std::align_val_t{kAlignment}, std::nothrow));
}

void system_free(std::byte* block) { ::operator delete (block, std::align_val_t{kAlignment}); }

class BlockCache {
 public:
  // Null if there is no block of this capacity.
  std::byte* take(size_t capacity) {
    const std::lock_guard lock(mutex_);
    // The latest first: the processor's caches may still hold some of it.
    for (size_t i = blocks_.size(); i-- > 0;) {
      if (blocks_[i].capacity != capacity) continue;
      std::byte* const memory = blocks_[i].memory;
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
      kept_ -= capacity;
      note_memory(MemoryUse::kIdleBlocks, 0, capacity);
      return memory;
    }
    return nullptr;
  }

  void put(std::byte* memory, size_t capacity) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back({memory, capacity});
    kept_ += capacity;
    note_memory(MemoryUse::kIdleBlocks, capacity);
    size_t oldest = 0;
    for (; kept_ > kMostKept; ++oldest) {
      kept_ -= blocks_[oldest].capacity;
      note_memory(MemoryUse::kIdleBlocks, 0, blocks_[oldest].capacity);
      system_free(blocks_[oldest].memory);
    }
    blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(oldest));
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    for (const Block& block : blocks_) system_free(block.memory);
    blocks_.clear();
    note_memory(MemoryUse::kIdleBlocks, 0, kept_);
    kept_ = 0;
  }

 private:
  struct Block {
    std::byte* memory;
    size_t capacity;
  };
  std::mutex mutex_;
  std::vector<Block> blocks_;  // oldest first
  size_t kept_ = 0;
};

BlockCache& cache() {
  static auto* const cache = new BlockCache;  // outlives the tensors of static objects
  return *cache;
}

}  // namespace

void check_block_size(size_t nbytes) {
  if (nbytes > physical_memory()) {
    fail(ErrorCode::kOutOfMemory,
         "a tensor of %zu bytes does not fit into the %zu bytes of memory here", nbytes,
         physical_memory());
  }
}

std::byte* allocate_block(size_t nbytes) {
  if (nbytes == 0) return nullptr;
  check_block_size(nbytes);
  const size_t capacity = capacity_for(nbytes);
  std::byte* block = capacity < kLeastKept ? nullptr : cache().take(capacity);
  if (!block) block = system_allocate(capacity);
  if (!block) {
    cache().clear();
    block = system_allocate(capacity);
  }
  if (!block) fail(ErrorCode::kOutOfMemory, "cannot allocate %zu bytes", nbytes);
  note_memory(MemoryUse::kTensors, capacity);
  return block;
}

void free_block(std::byte* block, size_t nbytes) {
  if (!block) return;
  const size_t capacity = capacity_for(nbytes);
  note_memory(MemoryUse::kTensors, 0, capacity);
  if (capacity < kLeastKept || capacity > kMostKept) {
    system_free(block);
  } else {
    cache().put(block, capacity);
  }
}

}  // namespace torchlet
