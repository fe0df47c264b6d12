// What a program by somebody else may take: memory, time, and no more once it is cancelled.
//
// Limits hold for a scope of one thread and for the threads of the pool that help it. Scopes nest,
// and an inner one adds to what the outer ones demand. Where there is none, a charge and a poll
// cost a test of a thread's variable.
//
// What can grow with a program's numbers is charged: storages and other RefCounted objects by
// themselves, everything else by a Charge beside it or by require_memory() before it is made. What
// can run long calls poll() every few milliseconds of its work.
#pragma once

#include <torchlet/error.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace torchlet {

namespace limits {
struct Account;
struct Watch;

// Those of the innermost scope on this thread.
struct Current {
  Account* memory = nullptr;
  const Watch* watch = nullptr;
};
inline constinit thread_local Current current;

void charge(Account& account, size_t nbytes);
void release(Account& account, size_t nbytes) noexcept;
void check(const Watch& watch);
}  // namespace limits

// How many bytes may be held at once by all that is charged to it, whenever that was. A budget that
// is made in a scope with another one is part of that one. Charges outlive the budget.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t limit);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  size_t limit() const;
  // Now. Thread-safe.
  size_t used() const;

 private:
  friend class LimitScope;
  limits::Account* account_;
};

namespace limits {
struct Watch {
  int64_t deadline;  // nanoseconds of the monotonic clock
  double seconds;    // that there were; 0 if there is no deadline
  const std::atomic<bool>* cancel;
  const Watch* outer;
};
}  // namespace limits

// Until its end, this thread charges `memory` (unless it is null), and poll() ends what runs after
// `seconds` (unless they are 0) or once *cancel is true (unless it is null). Scopes nest as local
// variables do; what is given must outlive the scope.
class LimitScope {
 public:
  explicit LimitScope(const MemoryBudget* memory, double seconds = 0,
                      const std::atomic<bool>* cancel = nullptr);
  // The limits of another thread, for its helper.
  explicit LimitScope(const limits::Current& inherited)
      : before_(std::exchange(limits::current, inherited)) {}
  ~LimitScope() { limits::current = before_; }
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;

 private:
  limits::Current before_;
  limits::Watch watch_{};
};

// Error kTimeLimit or kCancelled if what runs on this thread has to end.
inline void poll() {
  if (limits::current.watch) [[unlikely]]
    limits::check(*limits::current.watch);
}

// Bytes that count until the end of this object, on the budget of the thread that made it.
class Charge {
 public:
  Charge() = default;
  // Error kMemoryLimit if the budget has not so much left.
  explicit Charge(size_t nbytes) { add(nbytes); }
  Charge(Charge&& other) noexcept
      : account_(std::exchange(other.account_, nullptr)),
        nbytes_(std::exchange(other.nbytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(nbytes_, other.nbytes_);
    return *this;
  }
  ~Charge() {
    if (account_) limits::release(*account_, nbytes_);
  }

  // More of them: on the same budget, or on the thread's if there was none.
  void add(size_t nbytes) {
    limits::Account* account = account_ ? account_ : limits::current.memory;
    if (!account || nbytes == 0) return;
    limits::charge(*account, nbytes);
    account_ = account;
    nbytes_ += nbytes;
  }

 private:
  limits::Account* account_ = nullptr;
  size_t nbytes_ = 0;
};

// Of the machine, as far as a process can address it. A system that overcommits grants any request
// and kills the process when the pages are touched, so what cannot be met is refused before.
size_t physical_memory();

// Before `count` items of `item_bytes` are made: Error kMemoryLimit or kOutOfMemory if there is no
// room for them in the budget or in the machine; `what` names the items.
void require_memory(int64_t count, size_t item_bytes, const char* what);

// Memory that counts until counted_delete(), on the budget of the thread that asked for it;
// `alignment` is at most 64, the same for both. Error kMemoryLimit or kOutOfMemory.
void* counted_new(size_t nbytes, size_t alignment = alignof(std::max_align_t));
void counted_delete(void* memory, size_t alignment = alignof(std::max_align_t)) noexcept;

// Errors that no program may go on from.
constexpr bool is_limit(ErrorCode code) {
  return code == ErrorCode::kMemoryLimit || code == ErrorCode::kTimeLimit ||
         code == ErrorCode::kCancelled;
}

}  // namespace torchlet
