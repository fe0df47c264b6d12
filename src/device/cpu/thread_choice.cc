#include "device/cpu/thread_choice.h"

#include <algorithm>

namespace torchlet::cpu {
namespace {

double median(std::array<double, ThreadChoice::kRuns> seconds) {
  const auto middle = seconds.begin() + ThreadChoice::kRuns / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace

ThreadChoice::Run ThreadChoice::next(int threads) {
  if (threads == 1) return {Mode::kPool, false};
  if (decided_for_.load(std::memory_order_acquire) == threads) return {decided_, false};
  const std::lock_guard lock(mutex_);
  if (threads_ != threads) {
    threads_ = threads;
    runs_ = 0;
    timed_ = {};
  }
  const int run = runs_++;
  // The first run finds nothing in the caches.
  if (run == 0) return {Mode::kPool, false};
  return {run % 2 == 1 ? Mode::kPool : Mode::kAlone, true};
}

void ThreadChoice::done(Mode mode, double seconds) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(mode);
  if (timed_[index] < kRuns) seconds_[index][timed_[index]++] = seconds;
  const bool is_large = mode == Mode::kPool && seconds > kLarge;
  if (!is_large && (timed_[0] < kRuns || timed_[1] < kRuns)) return;
  // A tie leaves the other threads to others.
  const bool is_alone = !is_large && median(seconds_[1]) < 1.03 * median(seconds_[0]);
  decided_ = is_alone ? Mode::kAlone : Mode::kPool;
  decided_for_.store(threads_, std::memory_order_release);
}

}  // namespace torchlet::cpu
