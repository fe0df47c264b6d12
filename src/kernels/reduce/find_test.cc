#include "kernels/reduce/find.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

TEST(Find, EveryPlace) {
  for_each_target([] {
    for (int64_t n = 0; n < 70; ++n) {
      const std::vector<float> all(static_cast<size_t>(n), 2.0f);
      for (const bool upwards : {true, false}) {
        EXPECT_EQ(find_beyond(all.data(), 0, n, 2, upwards), n);  // what is equal stays
        for (int64_t place = 0; place < n; ++place) {
          for (const float found : {upwards ? 3.0f : 1.0f, NAN}) {
            std::vector<float> x = all;
            x[static_cast<size_t>(place)] = found;
            for (const int64_t begin : {int64_t{0}, place / 2, place}) {
              ASSERT_EQ(find_beyond(x.data(), begin, n, 2, upwards), place);
            }
            ASSERT_EQ(find_beyond(x.data(), place + 1, n, 2, upwards), n);
          }
        }
      }
    }
    const float x = 1;
    EXPECT_EQ(find_beyond(&x, 0, 1, NAN, true), 0);  // nothing is on a side of NaN
  });
}

}  // namespace
}  // namespace torchlet::kernels
