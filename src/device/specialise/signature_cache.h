// What a device has made of a segment, by the signature of the inputs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "device/specialise/signature.h"

namespace torchlet::device {

// Whoever comes first with a signature makes it; others with the same wait, those with another do
// not. Thread-safe.
template <typename T>
class SignatureCache {
 public:
  // Those kept; who was asked for longest ago goes first. A model whose shapes change with every
  // call would compile all the time, so signatures after the first few must appear twice before
  // something is made.
  static constexpr size_t kMost = 64, kEager = 4;

  // What make() gave for inputs like these: a shared_ptr<const T>, null if there is nothing for
  // them. Null, too, for signatures that are new. The inputs can have a signature. What make()
  // throws reaches its caller, and the next one with the signature tries again.
  template <typename Make>
  std::shared_ptr<const T> get(std::span<const Value> inputs, const Make& make) {
    {
      const std::shared_lock lock(mutex_);
      Entry* known = find(inputs);
      if (known && known->is_made()) {
        touch(*known);
        return *known->made;
      }
    }
    const std::shared_ptr<Entry> entry = entry_to_make(inputs);
    if (!entry) return nullptr;
    const std::lock_guard lock(entry->making);
    if (!entry->is_made()) {
      entry->made = make();
      entry->ready.store(true, std::memory_order_release);
    }
    return *entry->made;
  }

  // What was made goes when its last user does.
  void clear() {
    const std::unique_lock lock(mutex_);
    entries_.clear();
  }

 private:
  struct Entry {
    explicit Entry(std::span<const Value> inputs) : signature(inputs) {}
    bool is_made() const { return ready.load(std::memory_order_acquire); }

    Signature signature;
    std::mutex making;
    std::optional<std::shared_ptr<const T>> made;  // not changed once it is ready
    std::atomic<bool> ready = false;
    std::atomic<uint64_t> asked = 0;  // when it was last, as asked_ counts
  };

  // Who asks for the same again and again writes nothing that others read.
  void touch(Entry& entry) {
    const uint64_t latest = asked_.load(std::memory_order_relaxed);
    if (entry.asked.load(std::memory_order_relaxed) == latest) return;
    asked_.store(latest + 1, std::memory_order_relaxed);
    entry.asked.store(latest + 1, std::memory_order_relaxed);
  }

  Entry* find(std::span<const Value> inputs) const {
    const auto found = std::ranges::find_if(
        entries_, [&](const auto& entry) { return entry->signature.matches(inputs); });
    return found == entries_.end() ? nullptr : found->get();
  }

  // Null if nothing is to be made the first time.
  std::shared_ptr<Entry> entry_to_make(std::span<const Value> inputs) {
    const std::unique_lock lock(mutex_);
    for (const auto& entry : entries_) {
      if (!entry->signature.matches(inputs)) continue;
      touch(*entry);
      return entry;
    }
    const bool eager = entries_.size() < kEager;
    if (entries_.size() == kMost) {
      entries_.erase(std::ranges::min_element(entries_, {}, [](const auto& entry) {
        return entry->asked.load(std::memory_order_relaxed);
      }));
    }
    entries_.push_back(std::make_shared<Entry>(inputs));
    touch(*entries_.back());
    return eager ? entries_.back() : nullptr;
  }

  std::shared_mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;
  std::atomic<uint64_t> asked_ = 1;  // two askers at once may count as one
};

}  // namespace torchlet::device
