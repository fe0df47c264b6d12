// Many objects of one type that stay where they are until all of them go. They lie in blocks, each
// of which the allocator gets back as a whole: one by one they would leave holes among what lives
// longer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace torchlet {

template <typename T>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (const Block& block : blocks_) std::destroy_n(at(block), block.used);
  }

  template <typename... Args>
  T* make(Args&&... args) {
    if (blocks_.empty() || blocks_.back().used == blocks_.back().count) add_block();
    Block& block = blocks_.back();
    T* const made =
        new (block.memory.get() + block.used * sizeof(T)) T(std::forward<Args>(args)...);
    ++block.used;
    ++size_;
    return made;
  }

  size_t size() const { return size_; }

 private:
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  static constexpr size_t kFirst = 8, kMost = 64;
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    size_t count, used;
  };

  void add_block() {
    const size_t count = blocks_.empty() ? kFirst : std::min(2 * blocks_.back().count, kMost);
    blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[count * sizeof(T)]), count, 0});
  }
  static T* at(const Block& block) {
    return std::launder(reinterpret_cast<T*>(block.memory.get()));
  }

  std::vector<Block> blocks_;
  size_t size_ = 0;
};

}  // namespace torchlet
