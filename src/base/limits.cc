#include "base/limits.h"

#include <torchlet/ref.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#ifdef __linux__
#include <ctime>
#endif

#include "base/error.h"

namespace torchlet {
namespace limits {

// Lives as long as anything is charged to it, which for this purpose its budget is, by one byte.
struct Account {
  size_t limit;
  Account* outer;
  std::atomic<size_t> used{1};
};

namespace {

// Without an error: false if it does not fit.
bool try_charge(Account& account, size_t nbytes) {
  size_t used = account.used.load(std::memory_order_relaxed);
  do {
    if (nbytes > account.limit || used - 1 > account.limit - nbytes) return false;
  } while (!account.used.compare_exchange_weak(used, used + nbytes, std::memory_order_relaxed));
  return true;
}

}  // namespace

void charge(Account& account, size_t nbytes) {
  for (Account* at = &account; at; at = at->outer) {
    if (try_charge(*at, nbytes)) continue;
    const size_t used = at->used.load(std::memory_order_relaxed) - 1, limit = at->limit;
    for (Account* charged = &account; charged != at; charged = charged->outer) {
      charged->used.fetch_sub(nbytes, std::memory_order_acq_rel);
    }
    fail(ErrorCode::kMemoryLimit,
         "the program asks for %zu bytes while it holds %zu of the %zu that it may "
         "(Options::memory_limit)",
         nbytes, used, limit);
  }
}

void release(Account& account, size_t nbytes) noexcept {
  for (Account* at = &account; at;) {
    Account* const outer = at->outer;
    if (at->used.fetch_sub(nbytes, std::memory_order_acq_rel) == nbytes) delete at;
    at = outer;
  }
}

namespace {

// A clock that costs a few nanoseconds and steps by a few milliseconds.
int64_t coarse_now() {
#ifdef __linux__
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
#else
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
#endif
}

int64_t deadline_after(double seconds) {
  constexpr double kForever = 1e9;
  if (seconds <= 0 || seconds >= kForever) return std::numeric_limits<int64_t>::max();
  return coarse_now() + static_cast<int64_t>(seconds * 1e9);
}

}  // namespace

void check(const Watch& innermost) {
  const int64_t now = coarse_now();
  for (const Watch* watch = &innermost; watch; watch = watch->outer) {
    if (watch->cancel && watch->cancel->load(std::memory_order_relaxed)) {
      fail(ErrorCode::kCancelled, "the program was cancelled (Options::cancel)");
    }
    if (now >= watch->deadline) {
      fail(ErrorCode::kTimeLimit,
           "the program has run for the %g seconds that it may (Options::time_limit)",
           watch->seconds);
    }
  }
}

}  // namespace limits

MemoryBudget::MemoryBudget(size_t limit)
    : account_(new limits::Account{limit, limits::current.memory}) {
  for (limits::Account* outer = account_->outer; outer; outer = outer->outer) ++outer->used;
}

MemoryBudget::~MemoryBudget() { limits::release(*account_, 1); }

size_t MemoryBudget::limit() const { return account_->limit; }

size_t MemoryBudget::used() const { return account_->used.load(std::memory_order_relaxed) - 1; }

LimitScope::LimitScope(const MemoryBudget* memory, double seconds, const std::atomic<bool>* cancel)
    : before_(limits::current) {
  if (memory) limits::current.memory = memory->account_;
  if (seconds > 0 || cancel) {
    watch_ = {limits::deadline_after(seconds), seconds, cancel, before_.watch};
    limits::current.watch = &watch_;
  }
}

size_t physical_memory() {
  // A 32-bit process may run on a machine with more than it can address.
  static const auto bytes =
      static_cast<size_t>(std::min(static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                       static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE)),
                                   static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max())));
  return bytes;
}

namespace {

[[noreturn]] void fail_memory(size_t nbytes, const char* what) {
  fail(ErrorCode::kOutOfMemory, "%zu bytes for %s do not fit into the %zu bytes of memory here",
       nbytes, what, physical_memory());
}

}  // namespace

void require_memory(int64_t count, size_t item_bytes, const char* what) {
  if (count <= 0) return;
  size_t nbytes;
  if (__builtin_mul_overflow(count, item_bytes, &nbytes)) {
    nbytes = std::numeric_limits<size_t>::max();
  }
  const Charge fits(nbytes);
  if (nbytes > physical_memory()) fail_memory(nbytes, what);
}

namespace {

// Before counted memory; a multiple of its alignment is left for it.
struct Header {
  Charge charge;
};
constexpr size_t room_for_header(size_t alignment) {
  return std::max({alignment, alignof(std::max_align_t), std::bit_ceil(sizeof(Header))});
}

}  // namespace

void* counted_new(size_t nbytes, size_t alignment) {
  const size_t before = room_for_header(alignment);
  Charge charge(nbytes > SIZE_MAX - before ? SIZE_MAX : before + nbytes);
  if (nbytes > SIZE_MAX - before || nbytes > physical_memory()) fail_memory(nbytes, "an operator");
  auto* block =
      static_cast<std::byte*>(::operator new (before + nbytes, std::align_val_t{alignment}));
  new (block) Header{std::move(charge)};
  return block + before;
}

void counted_delete(void* memory, size_t alignment) noexcept {
  if (!memory) return;
  auto* block = static_cast<std::byte*>(memory) - room_for_header(alignment);
  std::launder(reinterpret_cast<Header*>(block))->~Header();
  ::operator delete (block, std::align_val_t{alignment});
}

void* RefCounted::operator new(size_t nbytes) { return counted_new(nbytes); }
void RefCounted::operator delete(void* object) noexcept { counted_delete(object); }

}  // namespace torchlet
