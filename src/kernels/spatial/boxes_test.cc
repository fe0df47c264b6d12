#include "kernels/spatial/boxes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

// Corners in whole numbers and a limit that no share is near, so that roundings do not matter.
TEST(Boxes, OverlapOfEveryTail) {
  constexpr float kMost = 0.3f;
  for_each_target([] {
    for (int64_t count = 1; count < 40; ++count) {
      std::vector<float> x1, y1, x2, y2, areas;
      for (int64_t i = 0; i < count; ++i) {
        x1.push_back(static_cast<float>(i * 7 % 11));
        y1.push_back(static_cast<float>(i * 5 % 13));
        x2.push_back(x1.back() + static_cast<float>(i * 3 % 7));  // some of no width
        y2.push_back(y1.back() + static_cast<float>(1 + i % 6));
        areas.push_back((x2.back() - x1.back()) * (y2.back() - y1.back()));
      }
      const BoxArrays boxes{x1.data(), y1.data(), x2.data(), y2.data(), areas.data()};
      for (size_t box = 0; box < x1.size(); ++box) {
        for (const int64_t begin : {int64_t{0}, count / 2}) {
          std::vector<uint8_t> marks(x1.size() + 1), expected(marks.size());
          marks[0] = expected[0] = 1;  // what is marked stays so
          for (size_t i = static_cast<size_t>(begin); i < x1.size(); ++i) {
            const float w = std::min(x2[box], x2[i]) - std::max(x1[box], x1[i]);
            const float h = std::min(y2[box], y2[i]) - std::max(y1[box], y1[i]);
            const float shared = std::max(w, 0.0f) * std::max(h, 0.0f);
            expected[i] |= shared / (areas[box] + areas[i] - shared) > kMost;
          }
          mark_overlapping(boxes, static_cast<int64_t>(box), begin, count, kMost, marks.data());
          ASSERT_EQ(marks, expected);
        }
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
