// A vector of small plain values that stays off the heap up to N elements: shapes, strides, dims.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

namespace torchlet {

template <typename T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  SmallVector() = default;
  explicit SmallVector(size_t count, T value = T()) { resize(count, value); }
  SmallVector(std::initializer_list<T> items) { assign_items(items.begin(), items.size()); }
  SmallVector(std::span<const T> items) { assign_items(items.data(), items.size()); }
  template <typename It>
  SmallVector(It first, It last) {
    assign(first, last);
  }
  SmallVector(const SmallVector& other) { assign_items(other.data(), other.size_); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign_items(other.data(), other.size_);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }

  T* data() { return heap_ ? heap_.get() : inline_; }
  const T* data() const { return heap_ ? heap_.get() : inline_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& front() const { return data()[0]; }
  const T& back() const { return data()[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(size_t count) {
    if (count > capacity_) [[unlikely]]
      grow(count);
  }
  void resize(size_t count, T value = T()) {
    reserve(count);
    for (size_t i = size_; i < count; ++i) data()[i] = value;
    size_ = count;
  }
  void push_back(T value) {
    reserve(size_ + 1);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  T* insert(const T* position, T value) {
    const size_t at = static_cast<size_t>(position - data());
    reserve(size_ + 1);
    std::copy_backward(data() + at, data() + size_, data() + size_ + 1);
    data()[at] = value;
    ++size_;
    return data() + at;
  }
  T* erase(const T* position) {
    const size_t at = static_cast<size_t>(position - data());
    std::copy(data() + at + 1, data() + size_, data() + at);
    --size_;
    return data() + at;
  }
  template <typename It>
  void assign(It first, It last) {
    if constexpr (std::is_convertible_v<It, const T*>) {
      assign_items(first, static_cast<size_t>(last - first));
    } else {
      size_ = 0;
      for (; first != last; ++first) push_back(static_cast<T>(*first));
    }
  }
  operator std::span<const T>() const { return {data(), size_}; }
  bool operator==(const SmallVector& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  // Out of line, because they are in every function that has shapes.
  [[gnu::noinline]] void grow(size_t count) {
    const size_t capacity = std::max(count, capacity_ * 2);
    std::unique_ptr<T[]> bigger(new T[capacity]);
    std::copy(begin(), end(), bigger.get());
    heap_ = std::move(bigger);
    capacity_ = capacity;
  }
  [[gnu::noinline]] void assign_items(const T* items, size_t count) {
    reserve(count);
    std::copy(items, items + count, data());
    size_ = count;
  }
  void take(SmallVector& other) {
    heap_ = std::move(other.heap_);
    if (!heap_) std::copy(other.inline_, other.inline_ + other.size_, inline_);
    size_ = other.size_;
    capacity_ = heap_ ? other.capacity_ : N;
    other.size_ = 0;
    other.capacity_ = N;
  }

  T inline_[N];
  std::unique_ptr<T[]> heap_;
  size_t size_ = 0;
  size_t capacity_ = N;
};

}  // namespace torchlet
