// Intrusive reference counting; the count is atomic, so handles may be copied across threads.
#pragma once

#include <torchlet/export.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace torchlet {

class TORCHLET_API RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;

  void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  uint32_t use_count() const noexcept { return count_.load(std::memory_order_acquire); }

  // Counts towards Options::memory_limit while a program runs: Error kMemoryLimit.
  static void* operator new(size_t nbytes);
  static void operator delete(void* object) noexcept;

 private:
  mutable std::atomic<uint32_t> count_{0};
};

// A strong reference to a RefCounted object; null by default.
template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* pointer) : pointer_(pointer) {
    if (pointer_) pointer_->retain();
  }
  Ref(const Ref& other) : Ref(other.pointer_) {}
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  template <typename U>
  Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  ~Ref() {
    if (pointer_) pointer_->release();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }

  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  bool operator==(const Ref& other) const { return pointer_ == other.pointer_; }

  // Gives the reference away without releasing it.
  T* leak() { return std::exchange(pointer_, nullptr); }
  // Takes over a reference that somebody else holds.
  static Ref adopt(T* pointer) {
    Ref ref;
    ref.pointer_ = pointer;
    return ref;
  }

 private:
  T* pointer_ = nullptr;
};

template <typename T, typename... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace torchlet
