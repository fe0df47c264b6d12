// A vector whose elements count as memory of the program that runs (base/limits.h): for working
// memory that grows with a tensor's size.
#pragma once

#include <cstddef>
#include <vector>

#include "base/limits.h"

namespace torchlet {

template <typename T>
struct CountedAllocator {
  using value_type = T;
  CountedAllocator() = default;
  template <typename U>
  CountedAllocator(const CountedAllocator<U>&) {}
  bool operator==(const CountedAllocator&) const = default;

  T* allocate(size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    return static_cast<T*>(counted_new(count * sizeof(T)));  // vectors check for overflow
  }
  void deallocate(T* items, size_t) noexcept { counted_delete(items); }
};

// Growing it is Error kMemoryLimit or kOutOfMemory where there is no room.
template <typename T>
using CountedVector = std::vector<T, CountedAllocator<T>>;

}  // namespace torchlet
