#include "kernels/reduce/bag.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

// Small integers, so that sums are exact; one element behind the row stays.
TEST(Bag, EveryTail) {
  for_each_target([] {
    for (int64_t dim = 1; dim < 150; ++dim) {
      const int64_t rows = 9;
      std::vector<float> table;
      for (int64_t i = 0; i < rows * dim; ++i) table.push_back(static_cast<float>(i * 7 % 23 - 11));
      const std::vector<int64_t> indices = {3, 8, 0, 3, 5};
      const std::vector<float> factors = {1, -2, 3, 0, 5};
      for (const size_t count : {size_t{0}, size_t{1}, indices.size()}) {
        for (const bool has_factors : {false, true}) {
          SCOPED_TRACE(testing::Message() << dim << " columns, " << count << " rows");
          std::vector<float> row(static_cast<size_t>(dim) + 1, 99), expected(row.size());
          expected.back() = 99;
          for (size_t i = 0; i < count; ++i) {
            for (size_t d = 0; d < static_cast<size_t>(dim); ++d) {
              expected[d] +=
                  table[static_cast<size_t>(indices[i] * dim) + d] * (has_factors ? factors[i] : 1);
            }
          }
          sum_bag(table.data(), dim, indices.data(), static_cast<int64_t>(count),
                  std::ssize(indices), has_factors ? factors.data() : nullptr, row.data());
          ASSERT_EQ(row, expected);
        }
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
