// Whether a small plan runs on the pool's threads or on its caller's alone, as measured: a step of a
// few microseconds costs as much to hand over as it gains, and by how much depends on the machine.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace torchlet::cpu {

// Thread-safe.
class ThreadChoice {
 public:
  enum class Mode : uint8_t { kPool, kAlone };  // indices
  struct Run {
    Mode mode;
    bool is_timed;  // tell done() how long it took
  };
  // For a run with so many threads, which are asked for again when their number changes.
  Run next(int threads);
  void done(Mode mode, double seconds);

  // A plan that once takes longer on the pool stays there, without being timed alone.
  static constexpr double kLarge = 400e-6;
  // Of either mode, in turns.
  static constexpr int kRuns = 8;

 private:
  std::atomic<int> decided_for_ = 0;  // threads; 0: not yet
  std::atomic<Mode> decided_ = Mode::kPool;
  std::mutex mutex_;  // of what follows
  int threads_ = 0, runs_ = 0;
  std::array<std::array<double, kRuns>, 2> seconds_ = {};  // by mode
  std::array<size_t, 2> timed_ = {};
};

}  // namespace torchlet::cpu
