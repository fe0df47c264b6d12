#include "device/cpu/thread_choice.h"

#include <gtest/gtest.h>

namespace torchlet::cpu {
namespace {

using Mode = ThreadChoice::Mode;

// Runs until the choice is made; how many runs that took.
int decide(ThreadChoice& choice, int threads, double on_pool, double alone) {
  for (int runs = 0;; ++runs) {
    const ThreadChoice::Run run = choice.next(threads);
    if (runs > 0 && !run.is_timed) return runs;
    if (run.is_timed) choice.done(run.mode, run.mode == Mode::kPool ? on_pool : alone);
  }
}

TEST(ThreadChoice, TakesWhatIsFaster) {
  ThreadChoice alone, pool;
  EXPECT_EQ(decide(alone, 2, 50e-6, 40e-6), 1 + 2 * ThreadChoice::kRuns);
  EXPECT_EQ(alone.next(2).mode, Mode::kAlone);
  EXPECT_EQ(decide(pool, 2, 40e-6, 50e-6), 1 + 2 * ThreadChoice::kRuns);
  EXPECT_EQ(pool.next(2).mode, Mode::kPool);
}

TEST(ThreadChoice, LeavesOtherThreadsAloneForNothing) {
  ThreadChoice choice;
  decide(choice, 4, 50e-6, 51e-6);
  EXPECT_EQ(choice.next(4).mode, Mode::kAlone);
}

TEST(ThreadChoice, NeverTriesALargePlanAlone) {
  ThreadChoice choice;
  for (int run = 0; run < 50; ++run) {
    const ThreadChoice::Run next = choice.next(2);
    EXPECT_EQ(next.mode, Mode::kPool) << run;
    if (next.is_timed) choice.done(next.mode, 1.01 * ThreadChoice::kLarge);
    EXPECT_EQ(next.is_timed, run == 1) << run;
  }
}

TEST(ThreadChoice, IsMadeAnewForAnotherNumberOfThreads) {
  ThreadChoice choice;
  decide(choice, 2, 50e-6, 40e-6);
  EXPECT_EQ(choice.next(1).mode, Mode::kPool);
  EXPECT_FALSE(choice.next(1).is_timed);
  EXPECT_EQ(decide(choice, 4, 30e-6, 40e-6), 1 + 2 * ThreadChoice::kRuns);
  EXPECT_EQ(choice.next(4).mode, Mode::kPool);
}

// Whatever one lucky run took.
TEST(ThreadChoice, GoesByTheMedian) {
  ThreadChoice choice;
  for (int run = 0; run <= 2 * ThreadChoice::kRuns; ++run) {
    const ThreadChoice::Run next = choice.next(2);
    if (!next.is_timed) continue;
    choice.done(next.mode, next.mode == Mode::kPool ? (run == 5 ? 40e-6 : 80e-6) : 60e-6);
  }
  EXPECT_FALSE(choice.next(2).is_timed);
  EXPECT_EQ(choice.next(2).mode, Mode::kAlone);
}

}  // namespace
}  // namespace torchlet::cpu
