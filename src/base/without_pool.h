// Work that stays on its thread.
#pragma once

namespace torchlet {

// While it lives, parallel_for() of this thread runs inline and num_threads() is 1: for work so small, or in such a place,
// that waking other threads would cost more than they do.
class WithoutPool {
 public:
  WithoutPool();
  ~WithoutPool();
  WithoutPool(const WithoutPool&) = delete;
  WithoutPool& operator=(const WithoutPool&) = delete;

 private:
  bool was_inside_, was_without_;
};

}  // namespace torchlet
