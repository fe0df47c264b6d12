#include "kernels/transpose.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/target_test.h"

namespace torchlet::kernels {
namespace {

TEST(Transpose, EveryTailAndStride) {
  for_each_target([] {
    for (int64_t rows : {1, 3, 4, 7, 48, 130}) {
      for (int64_t cols : {1, 2, 4, 9, 16, 67}) {
        const int64_t from_stride = cols + 2, to_stride = rows + 3;
        std::vector<float> from(static_cast<size_t>(rows * from_stride));
        for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
        std::vector<float> to(static_cast<size_t>(cols * to_stride), -1), expected = to;
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < cols; ++j) {
            expected[static_cast<size_t>(j * to_stride + i)] =
                from[static_cast<size_t>(i * from_stride + j)];
          }
        }
        transpose_f32(rows, cols, from.data(), from_stride, to.data(), to_stride);
        ASSERT_EQ(to, expected) << rows << "x" << cols;
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
