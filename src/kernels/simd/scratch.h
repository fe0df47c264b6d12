#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace torchlet::kernels {

// Working memory of a kernel: `count` uninitialised elements, 64-byte aligned, freed at the end of
// the scope. Each thread keeps a small stack of such memory, so that a kernel in the steady state
// does not touch the heap; larger requests go to the heap. Scopes must nest, as local variables do.
class ScratchBytes {
 public:
  explicit ScratchBytes(size_t size);
  ~ScratchBytes();
  ScratchBytes(const ScratchBytes&) = delete;
  ScratchBytes& operator=(const ScratchBytes&) = delete;

  void* data() const { return data_; }

 private:
  void* data_;
  size_t stack_size_;  // what it took from the thread's stack; 0 if it is on the heap
};

template <typename T>
class Scratch {
  static_assert(std::is_trivial_v<T>);

 public:
  explicit Scratch(int64_t count) : bytes_(bytes_of(count)) {}

  T* data() const { return static_cast<T*>(bytes_.data()); }
  T& operator[](int64_t i) const { return data()[i]; }

 private:
  // More than there are addresses, where these have 32 bits, is as much as there is nowhere.
  static size_t bytes_of(int64_t count) {
    size_t bytes;
    return __builtin_mul_overflow(count, sizeof(T), &bytes) ? SIZE_MAX - 4096 : bytes;
  }

  ScratchBytes bytes_;
};

}  // namespace torchlet::kernels
