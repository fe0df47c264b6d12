#include "base/thread_pool.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/without_pool.h"

namespace torchlet {
namespace {

// How long a thread stays awake: for the next step of a model before it sleeps, and for the last
// helper of a step. The gaps between the steps of a plan are shorter, what a wake-up costs is not.
constexpr std::chrono::microseconds kStayAwake{50};
constexpr int kMaxThreads = 256;

int processor_count() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

thread_local bool inside_parallel_for = false;
thread_local bool is_without_pool = false;

// Spins for kStayAwake at most; true if `condition` came true.
template <typename Condition>
bool comes_true_soon(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kStayAwake;
  do {
    for (int i = 0; i < 16; ++i) {
      if (condition()) return true;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
      asm volatile("yield");
#endif
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

// What polls needs its work in pieces: each begins as small as a body may get it, and is doubled
// until it takes as long as what is watched may run on.
void run_watched(int64_t begin, int64_t end, int64_t grain,
                 const FunctionRef<void(int64_t, int64_t)>& body) {
  constexpr std::chrono::milliseconds kPiece{4};
  for (int64_t count = grain;;) {
    poll();
    if (end - begin <= count) return body(begin, end);
    const auto start = std::chrono::steady_clock::now();
    body(begin, begin + count);
    begin += count;
    if (count <= end - begin && std::chrono::steady_clock::now() - start < kPiece) count *= 2;
  }
}

void run_body(int64_t begin, int64_t end, int64_t grain,
              const FunctionRef<void(int64_t, int64_t)>& body) {
  if (limits::current.watch) return run_watched(begin, end, grain, body);
  body(begin, end);
}

// One call of parallel_for. Every thread has a slice of the indices, the same in every step of a
// model, so that it finds in its own cache what it wrote in the step before; who is done early
// takes from the slices of the others.
class Job {
 public:
  using Body = FunctionRef<void(int64_t, int64_t)>;

  // Not thread-safe; `body` must outlive the job's work.
  void prepare(int64_t n, int64_t grain, int threads, const Body& body) {
    body_ = &body;
    grain_ = grain;
    limits_ = limits::current;
    const int64_t grains = (n - 1) / grain + 1;
    slice_count_ = static_cast<int>(std::min<int64_t>(threads, grains));
    if (slices_.size() < static_cast<size_t>(threads)) slices_ = std::vector<Slice>(threads);
    for (int i = 0; i < slice_count_; ++i) {
      const auto border = [&](int index) {
        return std::min(n, (grains * index / slice_count_) * grain);
      };
      slices_[i].next.store(border(i), std::memory_order_relaxed);
      slices_[i].end = i + 1 == slice_count_ ? n : border(i + 1);
    }
    const int64_t grains_per_slice = (grains - 1) / slice_count_ + 1;
    most_ = (grains_per_slice + 3) / 4 * grain;
    least_ = (grains_per_slice + 15) / 16 * grain;
    failed_.store(false, std::memory_order_relaxed);
  }

  int slice_count() const { return slice_count_; }

  // Runs the slice of `thread`, then what is left of the others.
  void work(int thread) {
    const bool was_inside = std::exchange(inside_parallel_for, true);
    const LimitScope scope(limits_);
    for (int i = 0; i < slice_count_; ++i) {
      Slice& slice = slices_[(thread + i) % slice_count_];
      int64_t begin, end;
      while (take(slice, &begin, &end)) run(begin, end);
    }
    inside_parallel_for = was_inside;
  }

  // After all work: throws what a body threw first.
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  struct alignas(64) Slice {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  // Quarters of a slice, smaller towards its end, so that the threads finish together.
  bool take(Slice& slice, int64_t* begin, int64_t* end) const {
    int64_t next = slice.next.load(std::memory_order_relaxed);
    int64_t count;
    do {
      const int64_t left = slice.end - next;
      if (left <= 0 || failed_.load(std::memory_order_relaxed)) return false;
      const int64_t half = (left / 2 + grain_ - 1) / grain_ * grain_;
      count = std::min(left, std::clamp(half, least_, most_));
    } while (!slice.next.compare_exchange_weak(next, next + count, std::memory_order_relaxed));
    *begin = next;
    *end = next + count;
    return true;
  }

  void run(int64_t begin, int64_t end) {
    try {
      run_body(begin, end, grain_, *body_);
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }

  const Body* body_ = nullptr;
  int64_t grain_ = 1, least_ = 1, most_ = 1;  // least_ and most_ indices to take at once
  int slice_count_ = 0;
  std::vector<Slice> slices_;
  limits::Current limits_;  // of the caller
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

// Workers help with a job if they come in time; the caller waits for those that have begun and for
// nobody else, so a busy machine costs speed and not patience.
class Pool {
 public:
  void set_thread_count(int count) {
    count = count > 0 ? std::min(count, kMaxThreads) : processor_count();
    const std::lock_guard lock(busy_);
    if (count != thread_count_) stop_workers();
    thread_count_ = count;
  }

  void set_executor(Executor* executor) {
    const std::lock_guard lock(busy_);
    if (executor) stop_workers();
    executor_ = executor;
  }

  int thread_count() const {
    const Executor* executor = executor_.load(std::memory_order_acquire);
    return executor ? executor->thread_count() : thread_count_.load(std::memory_order_relaxed);
  }

  // False if another thread has the pool.
  bool run(int64_t n, int64_t grain, const Job::Body& body) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    job_.prepare(n, grain, std::max(1, thread_count()), body);
    if (Executor* executor = executor_) {
      // While it waits, the executor may run other things of the application on this thread.
      inside_parallel_for = true;
      executor->run(job_.slice_count(), work_on, &job_);
      inside_parallel_for = false;
    } else {
      start_workers();
      publish();
      job_.work(0);
      withdraw();
    }
    job_.rethrow();
    return true;
  }

 private:
  // state_ is the number of the job, whether it takes helpers, and how many are at it. job_ changes
  // only while it takes none and has none.
  static constexpr uint64_t kHelpers = 0xffff, kOpen = 0x10000, kGeneration = 0x20000;
  static uint64_t generation(uint64_t state) { return state / kGeneration; }

  void start_workers() {
    try {
      while (static_cast<int>(workers_.size()) + 1 < thread_count_) {
        const int index = static_cast<int>(workers_.size()) + 1;
        const uint64_t seen = generation(state_);
        workers_.emplace_back([this, index, seen] { worker(index, seen); });
      }
    } catch (const std::system_error&) {
      // No more threads to be had: the work is done all the same.
    }
  }

  void stop_workers() {
    stopping_ = true;
    announce(0);
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    stopping_ = false;
  }

  static void work_on(void* job, int index) { static_cast<Job*>(job)->work(index); }

  void publish() { announce(kOpen); }

  void announce(uint64_t flags) {
    state_.store((generation(state_) + 1) * kGeneration | flags);
    // Who goes to sleep counts itself first and looks at state_ then: one of us sees the other.
    if (sleepers_.load() == 0) return;
    { const std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }

  void withdraw() {
    const auto is_alone = [&] { return (state_.load() & kHelpers) == 0; };
    if ((state_.fetch_and(~kOpen) & kHelpers) == 0 || comes_true_soon(is_alone)) return;
    std::unique_lock lock(mutex_);
    caller_sleeps_ = true;
    done_.wait(lock, is_alone);
    caller_sleeps_ = false;
  }

  void worker(int index, uint64_t seen) {
    for (;;) {
      const auto has_news = [&] { return generation(state_.load()) != seen; };
      if (!comes_true_soon(has_news)) {
        std::unique_lock lock(mutex_);
        ++sleepers_;
        wake_.wait(lock, has_news);
        --sleepers_;
      }
      uint64_t state = state_.load();
      seen = generation(state);
      if (stopping_) return;
      if (join(state)) {
        job_.work(index);
        leave();
      }
    }
  }

  // False if the job has been withdrawn since `state` was read.
  bool join(uint64_t state) {
    const uint64_t number = generation(state);
    while ((state & kOpen) != 0 && generation(state) == number) {
      if (state_.compare_exchange_weak(state, state + 1)) return true;
    }
    return false;
  }

  void leave() {
    if ((state_.fetch_sub(1) & (kHelpers | kOpen)) != 1 || !caller_sleeps_) return;
    { const std::lock_guard lock(mutex_); }
    done_.notify_one();
  }

  std::mutex busy_;  // held by who runs a job or changes threads; guards workers_
  std::vector<std::thread> workers_;
  std::atomic<int> thread_count_{processor_count()};
  std::atomic<Executor*> executor_{nullptr};

  Job job_;
  alignas(64) std::atomic<uint64_t> state_{0};
  std::atomic<bool> stopping_{false};

  alignas(64) std::mutex mutex_;  // for sleep alone
  std::condition_variable wake_, done_;
  std::atomic<int> sleepers_{0};
  std::atomic<bool> caller_sleeps_{false};
};

// Never destroyed: a thread of the application may outlive the static objects.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

}  // namespace

WithoutPool::WithoutPool()
    : was_inside_(std::exchange(inside_parallel_for, true)),
      was_without_(std::exchange(is_without_pool, true)) {}
WithoutPool::~WithoutPool() {
  inside_parallel_for = was_inside_;
  is_without_pool = was_without_;
}

void set_num_threads(int count) { pool().set_thread_count(count); }

int num_threads() { return is_without_pool ? 1 : pool().thread_count(); }

void set_executor(Executor* executor) { pool().set_executor(executor); }

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  if (n <= grain || inside_parallel_for || num_threads() == 1 || !pool().run(n, grain, body)) {
    run_body(0, n, grain, body);
  }
}

}  // namespace torchlet
