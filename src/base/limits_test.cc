#include "base/limits.h"

#include <gtest/gtest.h>
#include <torchlet/ref.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/counted_vector.h"
#include "base/thread_pool.h"

namespace torchlet {
namespace {

template <typename Body>
std::optional<ErrorCode> code_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST(MemoryBudget, CountsWhatIsHeldAndRefusesMore) {
  const MemoryBudget budget(100);
  const LimitScope scope(&budget);
  {
    const Charge most(60);
    EXPECT_EQ(budget.used(), 60u);
    EXPECT_EQ(code_of([] { Charge(41); }), ErrorCode::kMemoryLimit);
    EXPECT_EQ(budget.used(), 60u);
    Charge rest(30);
    rest.add(10);
    EXPECT_EQ(code_of([&] { rest.add(1); }), ErrorCode::kMemoryLimit);
    EXPECT_EQ(code_of([&] { rest.add(~size_t{0}); }), ErrorCode::kMemoryLimit);
    EXPECT_EQ(budget.used(), 100u);
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, ChargesOutliveScopeAndBudget) {
  Charge kept;
  {
    const MemoryBudget budget(100);
    {
      const LimitScope scope(&budget);
      kept = Charge(60);
    }
    EXPECT_EQ(budget.used(), 60u);
    Charge(1000);  // nobody counts
    EXPECT_EQ(code_of([&] { kept.add(50); }), ErrorCode::kMemoryLimit);
  }
  kept = Charge();
}

TEST(MemoryBudget, OneWithinAnotherCountsInBoth) {
  const MemoryBudget outer(100);
  const LimitScope scope(&outer);
  Charge kept;
  {
    const MemoryBudget inner(50);
    const LimitScope inner_scope(&inner);
    kept = Charge(40);
    EXPECT_EQ(code_of([] { Charge(11); }), ErrorCode::kMemoryLimit);
    EXPECT_GE(outer.used(), inner.used());
  }
  const MemoryBudget wide(1000);
  const LimitScope wide_scope(&wide);
  EXPECT_EQ(code_of([] { Charge(100); }), ErrorCode::kMemoryLimit);
  EXPECT_EQ(wide.used(), 0u);
}

TEST(MemoryBudget, CountsRefCountedObjects) {
  struct Box : RefCounted {
    char room[1000];
  };
  const MemoryBudget budget(2500);
  Ref<Box> one, two, three;
  {
    const LimitScope scope(&budget);
    one = make_ref<Box>();
    two = make_ref<Box>();
    EXPECT_EQ(code_of([&] { three = make_ref<Box>(); }), ErrorCode::kMemoryLimit);
  }
  one = nullptr;
  EXPECT_GE(budget.used(), sizeof(Box));
  two = nullptr;
  EXPECT_EQ(budget.used(), 0u);
}

TEST(CountedVector, CountsItsElements) {
  const MemoryBudget budget(10000);
  const LimitScope scope(&budget);
  {
    CountedVector<int64_t> numbers(1000, 7);
    EXPECT_GE(budget.used(), 8000u);
    EXPECT_EQ(code_of([&] { numbers.push_back(7); }), ErrorCode::kMemoryLimit);
    EXPECT_EQ(numbers.size(), 1000u);
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST(RequireMemory, RefusesWhatNoMachineHasBeforeItIsMade) {
  require_memory(1000, 16, "items");
  require_memory(0, 16, "items");
  for (const int64_t count : {int64_t{1} << 40, int64_t{1} << 60, INT64_MAX}) {
    EXPECT_EQ(code_of([&] { require_memory(count, 1000, "items"); }), ErrorCode::kOutOfMemory);
  }
  const MemoryBudget budget(1000);
  const LimitScope scope(&budget);
  EXPECT_EQ(code_of([] { require_memory(126, 8, "items"); }), ErrorCode::kMemoryLimit);
  EXPECT_EQ(budget.used(), 0u);
}

double seconds_until_stopped(const LimitScope&) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of([] {
              for (;;) poll();
            }),
            ErrorCode::kTimeLimit);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Poll, EndsWhatHasNoTimeLeft) {
  poll();
  EXPECT_GE(seconds_until_stopped(LimitScope(nullptr, 0.05)), 0.04);
  const LimitScope outer(nullptr, 0.05);
  // An inner scope cannot give more.
  EXPECT_LT(seconds_until_stopped(LimitScope(nullptr, 1000)), 100);
}

TEST(Poll, EndsWhatIsCancelled) {
  std::atomic<bool> cancel = false;
  const LimitScope scope(nullptr, 0, &cancel);
  poll();
  cancel = true;
  EXPECT_EQ(code_of(poll), ErrorCode::kCancelled);
  const LimitScope inner(nullptr, 1000);
  EXPECT_EQ(code_of(poll), ErrorCode::kCancelled);
}

class LimitsOfThreads : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_num_threads(GetParam()); }
  void TearDown() override { set_num_threads(0); }
};
INSTANTIATE_TEST_SUITE_P(Threads, LimitsOfThreads, testing::Values(1, 3));

TEST_P(LimitsOfThreads, HelpersChargeTheCallersBudget) {
  const MemoryBudget budget(1000);
  const LimitScope scope(&budget);
  const auto charge_all = [](size_t nbytes) {
    parallel_for(64, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Charge charge(nbytes);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  };
  charge_all(300);
  EXPECT_EQ(code_of([&] { charge_all(1001); }), ErrorCode::kMemoryLimit);
  EXPECT_EQ(budget.used(), 0u);
}

TEST_P(LimitsOfThreads, LongWorkEndsInTime) {
  const LimitScope scope(nullptr, 0.05);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of([] {
              parallel_for(60'000, 1, [](int64_t first, int64_t last) {
                std::this_thread::sleep_for(std::chrono::milliseconds(last - first));
              });
            }),
            ErrorCode::kTimeLimit);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST_P(LimitsOfThreads, WatchedWorkIsDoneWholeAndOnce) {
  const LimitScope scope(nullptr, 1000);
  for (int64_t n : {1, 7, 1000}) {
    for (int64_t grain : {1, 3, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(n));
      parallel_for(n, grain, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % grain, 0);
        EXPECT_TRUE(end == n || end % grain == 0);
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      for (const auto& count : visits) EXPECT_EQ(count, 1);
    }
  }
}

}  // namespace
}  // namespace torchlet
