#include "device/cpu/arena.h"

#include <utility>

#include "base/pages.h"
#include "base/limits.h"

namespace torchlet::cpu {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

void ArenaPool::Free::operator()(std::byte* data) const { counted_delete(data, kAlignment); }

ArenaPool::Lease::Lease(ArenaPool& pool, size_t nbytes) : pool_(pool) {
  {
    const std::lock_guard lock(pool.mutex_);
    if (!pool.idle_.empty()) {
      block_ = std::move(pool.idle_.back());
      pool.idle_.pop_back();
    }
  }
  if (block_.nbytes >= nbytes && block_.data) return;
  block_ = Block();  // before the larger one is taken
  block_.data.reset(static_cast<std::byte*>(counted_new(nbytes, kAlignment)));
  block_.nbytes = nbytes;
  prefer_huge_pages(block_.data.get(), nbytes);
}

ArenaPool::Lease::~Lease() {
  const std::lock_guard lock(pool_.mutex_);
  pool_.idle_.push_back(std::move(block_));
}

}  // namespace torchlet::cpu
