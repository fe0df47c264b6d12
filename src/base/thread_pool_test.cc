#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/without_pool.h"

namespace torchlet {
namespace {

class ThreadPoolTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_num_threads(GetParam()); }
  void TearDown() override { set_num_threads(0); }
};

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, testing::Values(1, 2, 5));

TEST_P(ThreadPoolTest, VisitsEveryIndexOnceInAlignedRanges) {
  for (int64_t n : {0, 1, 2, 7, 64, 1000, 1001}) {
    for (int64_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(n));
      parallel_for(n, grain, [&](int64_t begin, int64_t end) {
        EXPECT_LT(begin, end);
        EXPECT_EQ(begin % grain, 0);
        EXPECT_TRUE(end == n || end % grain == 0);
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      for (const auto& count : visits) EXPECT_EQ(count, 1);
    }
  }
}

TEST_P(ThreadPoolTest, NestedCallsRunInline) {
  std::atomic<int64_t> sum{0};
  parallel_for(16, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      parallel_for(100, 1, [&](int64_t b, int64_t e) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        sum += e - b;
      });
    }
  });
  EXPECT_EQ(sum, 1600);
}

TEST_P(ThreadPoolTest, StaysOnItsThreadWithoutThePool) {
  const auto outer = std::this_thread::get_id();
  {
    const WithoutPool alone;
    { const WithoutPool within; }
    parallel_for(100, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      EXPECT_EQ(begin, 0);
      EXPECT_EQ(end, 100);
    });
  }
  std::atomic<int> calls{0};
  parallel_for(100, 1, [&](int64_t, int64_t) { ++calls; });
  EXPECT_EQ(calls > 1, GetParam() > 1);
}

TEST_P(ThreadPoolTest, CarriesTheExceptionAndStaysUsable) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(parallel_for(100, 1,
                              [](int64_t begin, int64_t end) {
                                if (begin <= 50 && 50 < end) throw std::runtime_error("fifty");
                              }),
                 std::runtime_error);
    std::atomic<int64_t> done{0};
    parallel_for(100, 1, [&](int64_t begin, int64_t end) { done += end - begin; });
    EXPECT_EQ(done, 100);
  }
}

TEST_P(ThreadPoolTest, ServesSeveralApplicationThreadsWhileItsSizeChanges) {
  std::atomic<bool> stop{false};
  std::thread resizer([&] {
    for (int count = 1; !stop; count = count % 3 + 1) set_num_threads(count);
  });
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([] {
      for (int round = 0; round < 200; ++round) {
        std::vector<int> data(257);
        parallel_for(257, 8, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) data[static_cast<size_t>(i)] = static_cast<int>(i);
        });
        ASSERT_EQ(std::accumulate(data.begin(), data.end(), 0), 257 * 256 / 2);
      }
    });
  }
  for (auto& caller : callers) caller.join();
  stop = true;
  resizer.join();
}

TEST(ThreadPool, SecondThreadReallyWorks) {
  set_num_threads(2);
  // Each range waits for the other: this ends only if two threads run at once.
  std::atomic<int> arrived{0};
  parallel_for(2, 1, [&](int64_t, int64_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
  EXPECT_EQ(num_threads(), 2);
  set_num_threads(0);
  EXPECT_GE(num_threads(), 1);
}

TEST(ThreadPool, RunsStepsInAQuickRowAndAfterSleep) {
  set_num_threads(2);
  for (int round = 0; round < 2000; ++round) {
    std::atomic<int> done{0};
    parallel_for(2, 1, [&](int64_t begin, int64_t end) { done += static_cast<int>(end - begin); });
    ASSERT_EQ(done, 2);
    if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  set_num_threads(0);
}

class Backwards : public Executor {
 public:
  int thread_count() const override { return 3; }
  void run(int count, void (*task)(void*, int), void* context) override {
    EXPECT_LE(count, thread_count());
    tasks += count;
    for (int i = count; i-- > 0;) task(context, i);
  }
  int tasks = 0;
};

TEST(ThreadPool, RunsOnTheThreadsOfTheApplication) {
  Backwards executor;
  set_executor(&executor);
  EXPECT_EQ(num_threads(), 3);
  const auto caller = std::this_thread::get_id();
  std::vector<int> visits(100);
  parallel_for(100, 1, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  EXPECT_EQ(visits, std::vector<int>(100, 1));
  EXPECT_EQ(executor.tasks, 3);
  EXPECT_THROW(parallel_for(2, 1, [](int64_t, int64_t) { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(executor.tasks, 5);
  set_executor(nullptr);
  parallel_for(100, 1, [](int64_t, int64_t) {});
  EXPECT_EQ(executor.tasks, 5);
}

}  // namespace
}  // namespace torchlet
