#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

TEST(Sort, EqualElementsComeAsPytorchLeavesThem) {
  const Tensor x = make({1, 2, 0, 0, 0, 1, 1, 2, 1, 1, 1, 1, 0, 0, 0, 1, 2});
  const std::vector<double> values = {2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  expect_tensor(result_of("aten::sort", "", {x, 0, true}), values);
  expect_tensor(result_of("aten::sort", "", {x, 0, true}, 1),
                {1, 16, 7, 5, 6, 8, 9, 10, 11, 15, 0, 3, 4, 2, 12, 13, 14}, DType::kInt64);
  expect_tensor(result_of("aten::sort", "stable", {x, true, 0, true}, 1),
                {1, 7, 16, 0, 5, 6, 8, 9, 10, 11, 15, 2, 3, 4, 12, 13, 14}, DType::kInt64);
}

TEST(Sort, NanIsTheLargest) {
  const Tensor x = make({1, NAN, -INFINITY, INFINITY});
  expect_tensor(result_of("aten::sort", "", {x}, 1), {2, 0, 3, 1}, DType::kInt64);
  expect_tensor(result_of("aten::sort", "", {x, 0, true}, 1), {1, 3, 0, 2}, DType::kInt64);
}

}  // namespace
}  // namespace torchlet::ops
