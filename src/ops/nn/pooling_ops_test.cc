#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

constexpr double kNan = NAN;

TEST(Pooling, Max) {
  expect_tensor(result_of("aten::max_pool2d", "",
                          {ramp({1, 1, 4, 5}), int_list({2, 3}), int_list({2, 2}), int_list({1, 1}),
                           int_list({1, 1}), true}),
                {0.5, 1.25, 1.25, 1, 1, 1.25, 0.25, 1, 0}, DType::kFloat32, {1, 1, 3, 3});
  expect_tensor(result_of("aten::max_pool2d_with_indices", "",
                          {ramp({1, 4, 4}), int_list({2, 2}), int_list({1, 2}), int_list({0, 0}),
                           int_list({2, 1}), false}),
                {0.75, 1.25, 0.5, 1.25}, DType::kFloat32, {1, 2, 2});
  expect_tensor(result_of("aten::max_pool2d_with_indices", "",
                          {ramp({1, 4, 4}), int_list({2, 2}), int_list({1, 2}), int_list({0, 0}),
                           int_list({2, 1}), false},
                          1),
                {9, 3, 12, 14}, DType::kInt64, {1, 2, 2});
  expect_tensor(
      result_of("aten::max_pool2d_with_indices", "",
                {make({1, kNan, 3, 4, 5, 6}, DType::kFloat32, {1, 2, 3}), int_list({2, 2}),
                 int_list({1, 1}), int_list({0, 0}), int_list({1, 1}), false}),
      {kNan, kNan}, DType::kFloat32, {1, 1, 2});
  expect_tensor(
      result_of("aten::max_pool2d_with_indices", "",
                {make({1, kNan, 3, 4, 5, 6}, DType::kFloat32, {1, 2, 3}), int_list({2, 2}),
                 int_list({1, 1}), int_list({0, 0}), int_list({1, 1}), false},
                1),
      {1, 1}, DType::kInt64, {1, 1, 2});
  expect_tensor(
      result_of("aten::max_pool2d", "",
                {make({1, kNan, 3, 4, 5, 6}, DType::kFloat32, {1, 2, 3}), int_list({2, 2}),
                 int_list({1, 1}), int_list({0, 0}), int_list({1, 1}), false}),
      {kNan, kNan}, DType::kFloat32, {1, 1, 2});
  expect_tensor(
      result_of("aten::max_pool1d", "",
                {ramp({2, 5}), int_list({2}), int_list({2}), int_list({0}), int_list({1}), true}),
      {0.5, 1.25, 0.25, 1, 0, 0.75}, DType::kFloat32, {2, 3});
  expect_tensor(result_of("aten::max_pool3d", "",
                          {ramp({1, 2, 2, 4}), int_list({2, 1, 2}), int_list({2, 1, 2}),
                           int_list({0, 0, 0}), int_list({1, 1, 1}), false}),
                {0.75, 1.25, 0.5, 1.25}, DType::kFloat32, {1, 1, 2, 2});
  expect_tensor(result_of("aten::adaptive_max_pool2d", "", {ramp({1, 1, 3, 4}), int_list({2, 3})}),
                {0.5, 1, 1.25, 0.75, 1, 1}, DType::kFloat32, {1, 1, 2, 3});
  expect_tensor(
      result_of("aten::adaptive_max_pool2d", "", {ramp({1, 1, 3, 4}), int_list({2, 3})}, 1),
      {1, 6, 3, 9, 6, 6}, DType::kInt64, {1, 1, 2, 3});
  EXPECT_THROW(call_op("aten::max_pool2d", "",
                       {ramp({1, 1, 2, 2}), int_list({3, 3}), int_list({1, 1}), int_list({0, 0}),
                        int_list({1, 1}), false}),
               Error);
  EXPECT_THROW(call_op("aten::max_pool2d", "",
                       {ramp({1, 1, 2, 2}), int_list({2, 2}), int_list({1, 1}), int_list({2, 2}),
                        int_list({1, 1}), false}),
               Error);
}

TEST(Pooling, Average) {
  expect_tensor(result_of("aten::avg_pool2d", "",
                          {ramp({1, 1, 3, 4}), int_list({2, 2}), int_list({2, 2}), int_list({1, 1}),
                           true, true, Value()}),
                {-0.3125, 0, 0.3125, -0.1875, 0.1875, -0.3125}, DType::kFloat32, {1, 1, 2, 3});
  expect_tensor(result_of("aten::avg_pool2d", "",
                          {ramp({1, 1, 3, 4}), int_list({2, 2}), int_list({2, 2}), int_list({1, 1}),
                           true, false, Value()}),
                {-1.25, 0, 1.25, -0.375, 0.1875, -0.625}, DType::kFloat32, {1, 1, 2, 3});
  expect_tensor(result_of("aten::avg_pool2d", "",
                          {ramp({1, 1, 3, 4}, 0, DType::kFloat64), int_list({2, 2}),
                           int_list({2, 2}), int_list({1, 1}), true, false, Value()}),
                {-1.25, 0, 1.25, -0.375, 0.1875, -0.625}, DType::kFloat64, {1, 1, 2, 3});
  expect_tensor(result_of("aten::avg_pool2d", "",
                          {ramp({1, 1, 3, 4}), int_list({2, 2}), int_list({1, 1}), int_list({0, 0}),
                           false, true, 8}),
                {-0.15625, 0.03125, 0.21875, -0.09375, 0.09375, -0.0625}, DType::kFloat32,
                {1, 1, 2, 3});
  expect_tensor(result_of("aten::avg_pool1d", "",
                          {ramp({1, 6}), int_list({3}), int_list({2}), int_list({1}), false, true}),
                {-0.25, 0.416666657, 0.25}, DType::kFloat32, {1, 3});
  expect_tensor(result_of("aten::avg_pool1d", "",
                          {ints({0, 1, 2, 3, 4, 5, 6}, {1, 7}), int_list({3}), int_list({3}),
                           int_list({1}), true, true}),
                {0, 3, 3}, DType::kInt64, {1, 3});
  expect_tensor(result_of("aten::avg_pool3d", "",
                          {ramp({1, 2, 2, 2}), int_list({2, 1, 2}), int_list({1, 1, 1}),
                           int_list({0, 0, 0}), false, true, Value()}),
                {-0.3125, 0.4375}, DType::kFloat32, {1, 1, 2, 1});
  expect_tensor(result_of("aten::adaptive_avg_pool2d", "", {ramp({1, 2, 2, 2}), int_list({1, 1})}),
                {0, 0.125}, DType::kFloat32, {1, 2, 1, 1});
  expect_tensor(result_of("aten::adaptive_avg_pool1d", "", {ramp({1, 5}), int_list({3})}),
                {-0.375, 0.416666657, 0.75}, DType::kFloat32, {1, 3});
  expect_tensor(
      result_of("aten::adaptive_avg_pool3d", "", {ramp({1, 2, 2, 3}), int_list({1, 2, 2})}),
      {0.0625, -0.25, 0.5, -0.5}, DType::kFloat32, {1, 1, 2, 2});
  EXPECT_THROW(call_op("aten::adaptive_avg_pool2d", "", {ramp({1, 2, 0, 2}), int_list({1, 2})}),
               Error);
}

TEST(Pooling, Unpooling) {
  expect_tensor(result_of("aten::max_unpool2d", "",
                          {ramp({1, 1, 2}), ints({3, 0}, {1, 1, 2}), int_list({2, 2})}),
                {0.5, 0, 0, -1.25}, DType::kFloat32, {1, 2, 2});
  expect_tensor(result_of("aten::fractional_max_pool2d", "",
                          {ramp({1, 5, 5}), int_list({2, 2}), int_list({2, 3}),
                           make({0.300000012, 0.600000024}, DType::kFloat32, {1, 1, 2})}),
                {1, 1, 1.25, 0.75, 1, 0.5}, DType::kFloat32, {1, 2, 3});
  expect_tensor(result_of("aten::fractional_max_pool2d", "",
                          {ramp({1, 5, 5}), int_list({2, 2}), int_list({2, 3}),
                           make({0.300000012, 0.600000024}, DType::kFloat32, {1, 1, 2})},
                          1),
                {6, 6, 3, 20, 17, 23}, DType::kInt64, {1, 2, 3});
  expect_tensor(
      result_of("aten::fractional_max_pool3d", "",
                {ramp({1, 4, 3, 4}, 1), int_list({2, 1, 2}), int_list({1, 2, 2}),
                 make({0.300000012, 0.600000024, 0.899999976}, DType::kFloat32, {1, 1, 3})}),
      {1, 1, 1.25, 1.25}, DType::kFloat32, {1, 1, 2, 2});
  expect_tensor(
      result_of("aten::fractional_max_pool3d", "",
                {ramp({1, 4, 3, 4}, 1), int_list({2, 1, 2}), int_list({1, 2, 2}),
                 make({0.300000012, 0.600000024, 0.899999976}, DType::kFloat32, {1, 1, 3})},
                1),
      {37, 26, 45, 34}, DType::kInt64, {1, 1, 2, 2});
  EXPECT_THROW(call_op("aten::max_unpool2d", "",
                       {ramp({1, 1, 2}), ints({4, 0}, {1, 1, 2}), int_list({2, 2})}),
               Error);
}

TEST(SlidingBlocks, ColumnsAndBack) {
  expect_tensor(result_of("aten::im2col", "",
                          {ramp({1, 1, 3, 3}), int_list({2, 2}), int_list({1, 1}), int_list({0, 1}),
                           int_list({1, 2})}),
                {0, 0.5, 0, 0.25, -1.25, -0.5, 1.25, -0.75, 0, 0.25, 0, 0, 1.25, -0.75, 1, -1},
                DType::kFloat32, {1, 4, 4});
  expect_tensor(result_of("aten::col2im", "",
                          {ramp({4, 6}), int_list({3, 4}), int_list({2, 2}), int_list({1, 1}),
                           int_list({0, 0}), int_list({1, 1})}),
                {-1.25, 1.5, -0.5, -1, 1.75, 0.5, -0.75, -0.5, 0.25, -1, -0.25, 0.5},
                DType::kFloat32, {1, 3, 4});
  EXPECT_THROW(call_op("aten::col2im", "",
                       {ramp({4, 5}), int_list({3, 4}), int_list({2, 2}), int_list({1, 1}),
                        int_list({0, 0}), int_list({1, 1})}),
               Error);
}

}  // namespace
}  // namespace torchlet::ops
