// Memory for the activations of running plans.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace torchlet::cpu {

// Blocks that runs take and give back. Runs that follow each other share a block, whichever plan
// they belong to; runs at the same time have one each. Thread-safe.
class ArenaPool {
  struct Free {
    size_t nbytes;
    void operator()(std::byte* data) const;
  };
  using Block = std::unique_ptr<std::byte, Free>;

 public:
  // At least `nbytes`, 64-byte aligned, for the life of this object. Throws std::bad_alloc, or
  // Error kMemoryLimit: idle blocks count, too.
  class Lease {
   public:
    Lease(ArenaPool& pool, size_t nbytes);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    std::byte* data() const { return block_.get(); }

   private:
    ArenaPool& pool_;
    Block block_;
  };

 private:
  std::mutex mutex_;
  std::vector<Block> idle_;
};

}  // namespace torchlet::cpu
