#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace torchlet::kernels {

// The most operations per second of a few runs, 20 ms in all. `run` returns how many it did.
template <typename Run>
double best_rate(const Run& run) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  double best = 0;
  while (Clock::now() - start < std::chrono::milliseconds(20)) {
    const auto begin = Clock::now();
    const int64_t operations = run();
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    best = std::max(best, static_cast<double>(operations) / seconds.count());
  }
  return best;
}

}  // namespace torchlet::kernels
