#include "base/thread_pool.h"

#include <pthreadpool.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace torchlet {
namespace {

// More ranges than threads, so that a thread that was held up leaves work for the others to steal.
constexpr int64_t kRangesPerThread = 4;

int processor_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

struct PoolDeleter {
  void operator()(pthreadpool* pool) const { pthreadpool_destroy(pool); }
};

struct Pool {
  std::mutex mutex;  // held while the pool runs something or is replaced
  std::unique_ptr<pthreadpool, PoolDeleter> threads;
  std::atomic<int> thread_count{processor_count()};
  // Ranges run after the call and before its return. pthreadpool sees to that, but ThreadSanitizer
  // does not see into the library, so it is told here.
  std::atomic<unsigned> order{0};
};

// Never destroyed: a thread of the application may outlive the static objects.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

thread_local bool inside_parallel_for = false;

struct Job {
  FunctionRef<void(int64_t, int64_t)> body;
  int64_t n;
  int64_t range;
  std::atomic<bool> failed{false};
  std::exception_ptr error{};

  static void run(void* context, size_t index) {
    pool().order.load(std::memory_order_acquire);
    Job& job = *static_cast<Job*>(context);
    if (!job.failed.load(std::memory_order_relaxed)) job.run_range(static_cast<int64_t>(index));
    pool().order.fetch_add(1, std::memory_order_release);
  }

  void run_range(int64_t index) {
    const bool was_inside = std::exchange(inside_parallel_for, true);
    const int64_t begin = index * range;
    try {
      body(begin, std::min(n, begin + range));
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
    inside_parallel_for = was_inside;
  }
};

}  // namespace

void set_num_threads(int count) {
  if (count <= 0) count = processor_count();
  std::lock_guard lock(pool().mutex);
  if (count == pool().thread_count) return;
  pool().threads.reset();
  pool().thread_count = count;
}

int num_threads() { return pool().thread_count.load(std::memory_order_relaxed); }

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  Pool& shared = pool();
  if (n <= grain || inside_parallel_for || num_threads() == 1) return body(0, n);
  std::unique_lock lock(shared.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return body(0, n);
  const int count = shared.thread_count;
  if (count == 1) return body(0, n);
  if (!shared.threads) shared.threads.reset(pthreadpool_create(static_cast<size_t>(count)));
  if (!shared.threads) return body(0, n);  // no threads to be had: the work is done all the same

  const int64_t grains = (n + grain - 1) / grain;
  const int64_t grains_per_range =
      (grains + count * kRangesPerThread - 1) / (count * kRangesPerThread);
  Job job{body, n, grains_per_range * grain};
  const int64_t ranges = (n + job.range - 1) / job.range;
  shared.order.fetch_add(1, std::memory_order_release);
  pthreadpool_parallelize_1d(shared.threads.get(), Job::run, &job, static_cast<size_t>(ranges),
                             PTHREADPOOL_FLAG_YIELD_WORKERS);
  shared.order.load(std::memory_order_acquire);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace torchlet
