#include <gtest/gtest.h>

#include <vector>

#include "ops/core/testing.h"

namespace torchlet::ops {
namespace {

TEST(TriangleIndices, EveryDiagonal) {
  for (int64_t rows = 0; rows < 6; ++rows) {
    for (int64_t columns = 0; columns < 6; ++columns) {
      for (int64_t offset = -8; offset < 8; ++offset) {
        std::vector<double> below[2], above[2];
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) {
            if (j <= i + offset)
              below[0].push_back(static_cast<double>(i)),
                  below[1].push_back(static_cast<double>(j));
            if (j >= i + offset)
              above[0].push_back(static_cast<double>(i)),
                  above[1].push_back(static_cast<double>(j));
          }
        }
        SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", " << offset);
        const auto check = [&](const char* name, const std::vector<double>(&places)[2]) {
          std::vector<double> both = places[0];
          both.insert(both.end(), places[1].begin(), places[1].end());
          expect_tensor(result_of(name, "", {rows, columns, offset}), both, DType::kInt64,
                        {2, std::ssize(places[0])});
        };
        check("aten::tril_indices", below);
        check("aten::triu_indices", above);
      }
    }
  }
}

TEST(TriangleIndices, OfHugeMatrices) {
  const int64_t huge = int64_t{1} << 60;
  expect_tensor(result_of("aten::tril_indices", "", {huge, int64_t{0}}), {}, DType::kInt64, {2, 0});
  expect_tensor(result_of("aten::tril_indices", "", {int64_t{2}, huge, int64_t{-1}}), {1, 0},
                DType::kInt64, {2, 1});
  EXPECT_THROW(result_of("aten::triu_indices", "", {int64_t{2}, huge}), Error);
  EXPECT_THROW(result_of("aten::triu_indices", "", {huge, huge}), Error);
}

}  // namespace
}  // namespace torchlet::ops
