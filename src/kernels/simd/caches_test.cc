#include "kernels/simd/caches.h"

#include <gtest/gtest.h>

namespace torchlet::kernels {
namespace {

TEST(Caches, SmallOnesKeepTheirShare) {
  const int64_t before = cached(int64_t{1} << 20);
  set_cache(int64_t{2} << 20);
  EXPECT_EQ(cached(1000), 1000);
  set_cache(0);
  EXPECT_EQ(cached(1000), 1000);
  set_cache(int64_t{512} << 10);
  EXPECT_EQ(cached(1000), 500);
  set_cache(1);
  EXPECT_EQ(cached(1000), 125) << "blocks do not shrink to nothing";
  set_cache(before);
}

TEST(Caches, RowsAreAnOddNumberOfLinesApart) {
  EXPECT_EQ(odd_lines(1, 16), 16);
  EXPECT_EQ(odd_lines(16, 16), 16);
  EXPECT_EQ(odd_lines(17, 16), 48);
  EXPECT_EQ(odd_lines(992, 16), 1008);
  EXPECT_EQ(odd_lines(1000, 16), 1008) << "1024 floats are 4 KB";
  EXPECT_EQ(odd_lines(1024, 16), 1040);
}

}  // namespace
}  // namespace torchlet::kernels
