#include "ops/random/random.h"

#include <gtest/gtest.h>

#include <random>

namespace torchlet::ops {
namespace {

TEST(Random, NumbersAreThoseOfTheMersenneTwister) {
  for (const uint32_t seed : {0u, 5489u, 0xffffffffu}) {
    MersenneTwister ours(1);
    ours.seed(seed);
    std::mt19937 theirs(seed);
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(ours(), theirs()) << "number " << i;
  }
}

}  // namespace
}  // namespace torchlet::ops
