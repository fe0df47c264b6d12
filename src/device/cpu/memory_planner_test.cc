#include "device/cpu/memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace torchlet::cpu {
namespace {

bool share(const Lifetime& a, const Lifetime& b) {
  const bool at_once = a.first <= b.last && b.first <= a.last;
  return at_once && a.offset < b.offset + b.nbytes && b.offset < a.offset + a.nbytes;
}

TEST(MemoryPlanner, AChainNeedsTwoBuffers) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({640, i, i + 1});
  EXPECT_EQ(plan_memory(chain), 2 * 640);
  EXPECT_EQ(most_alive(chain), 2 * 640);
}

TEST(MemoryPlanner, NothingNeedsNothing) {
  EXPECT_EQ(plan_memory({}), 0);
  EXPECT_EQ(most_alive({}), 0);
}

TEST(MemoryPlanner, KnowsTheMostThatLivesAtOnce) {
  const std::vector<Lifetime> buffers = {{1000, 0, 1}, {512, 1, 3}, {300, 2, 4}, {700, 3, 3}};
  EXPECT_EQ(most_alive(buffers), 512 + 300 + 700);
}

TEST(MemoryPlanner, FillsGapsBetweenLargerBuffers) {
  std::vector<Lifetime> buffers = {{1024, 0, 1}, {512, 2, 3}, {512, 2, 4}, {1024, 5, 5}};
  EXPECT_EQ(plan_memory(buffers), 1024);
}

TEST(MemoryPlanner, BuffersThatLiveAtOnceNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 40; ++i) {
      const int first = static_cast<int>(random() % 30);
      buffers.push_back({static_cast<int64_t>(1 + random() % 5000), first,
                         first + static_cast<int>(random() % 6)});
    }
    const int64_t total = plan_memory(buffers);
    EXPECT_GE(total, most_alive(buffers));
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(buffers[i].offset % 64, 0);
      EXPECT_LE(buffers[i].offset + buffers[i].nbytes, total);
      for (size_t j = 0; j < i; ++j) EXPECT_FALSE(share(buffers[i], buffers[j]));
    }
  }
}

}  // namespace
}  // namespace torchlet::cpu
