// What the pool costs: a hand-off, and the gain of two threads on loops of known length.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/thread_pool.h"

namespace {

using torchlet::parallel_for;

// Steps that need nothing but the processor, each waiting for the one before.
void spin(int64_t steps) {
  uint64_t value = 1;
  for (int64_t i = 0; i < steps; ++i) {
    value *= 0x9e3779b97f4a7c15;
    benchmark::DoNotOptimize(value);
  }
}

// How many steps take `ns`.
int64_t steps_of(int64_t ns) {
  static const double ns_per_step = [] {
    double best = 1e9;
    for (int round = 0; round < 20; ++round) {
      const auto start = std::chrono::steady_clock::now();
      spin(500'000);
      const std::chrono::duration<double, std::nano> time =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, time.count() / 500'000);
    }
    return best;
  }();
  return static_cast<int64_t>(static_cast<double>(ns) / ns_per_step);
}

// A step of `work` microseconds in 64 parts, `pause` microseconds after the one before.
void step(benchmark::State& state) {
  torchlet::set_num_threads(static_cast<int>(state.range(0)));
  const int64_t part = steps_of(state.range(1) * 1000 / 64);
  const int64_t pause = steps_of(state.range(2) * 1000);
  for (auto _ : state) {
    if (pause > 0) {
      state.PauseTiming();
      spin(pause);
      state.ResumeTiming();
    }
    parallel_for(64, 1, [&](int64_t begin, int64_t end) { spin((end - begin) * part); });
  }
}
BENCHMARK(step)
    ->ArgNames({"threads", "work_us", "pause_us"})
    ->ArgsProduct({{1, 2}, {0, 20, 50, 200}, {0, 10, 200}})
    ->UseRealTime();

}  // namespace
