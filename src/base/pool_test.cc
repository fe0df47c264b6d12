#include "base/pool.h"

#include <gtest/gtest.h>

#include <vector>

namespace torchlet {
namespace {

struct Counted {
  Counted(int& counter, int value) : alive(counter), number(value) { ++alive; }
  Counted(const Counted&) = delete;
  ~Counted() { --alive; }
  int& alive;
  int number;
};

TEST(Pool, ObjectsStayUntilAllGo) {
  int alive = 0;
  {
    Pool<Counted> pool;
    EXPECT_EQ(pool.size(), 0U);
    std::vector<Counted*> made;
    for (int i = 0; i < 300; ++i) made.push_back(pool.make(alive, i));
    EXPECT_EQ(pool.size(), 300U);
    EXPECT_EQ(alive, 300);
    for (int i = 0; i < 300; ++i) EXPECT_EQ(made[i]->number, i);
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace torchlet
