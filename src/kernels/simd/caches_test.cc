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

}  // namespace
}  // namespace torchlet::kernels
