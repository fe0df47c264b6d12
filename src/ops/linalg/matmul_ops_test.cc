#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

constexpr double kNan = NAN;

TEST(MatrixProducts, Shapes) {
  expect_tensor(result_of("aten::mm", "", {ramp({2, 3}), ramp({3, 4}, 1)}),
                {1.25, -0.9375, -1.0625, 1.5625, -0.1875, 2.5, -0.3125, -0.375}, DType::kFloat32,
                {2, 4});
  expect_tensor(result_of("aten::bmm", "", {ramp({2, 2, 3}), ramp({2, 3, 2}, 1)}),
                {0.25, -1.9375, -1.3125, 1.375, -1.5, 1.25, -1.3125, 1.5}, DType::kFloat32,
                {2, 2, 2});
  expect_tensor(result_of("aten::mv", "", {ramp({2, 3}), ramp({3}, 2)}), {-1.1875, -0.625},
                DType::kFloat32, {2});
  expect_tensor(result_of("aten::dot", "", {ramp({4}), ramp({4}, 1)}), {0.1875}, DType::kFloat32,
                {});
  expect_tensor(result_of("aten::matmul", "", {ramp({3}), ramp({2, 3, 2}, 1)}),
                {0.25, -1.9375, 0.875, -1.3125}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::matmul", "", {ramp({2, 1, 2, 3}), ramp({2, 3, 1}, 1)}),
                {1.125, -0.5, 1.4375, -0.6875, -0.75, -1, -0.75, -0.8125}, DType::kFloat32,
                {2, 2, 2, 1});
  expect_tensor(result_of("aten::matmul", "", {ramp({2, 2, 3}), ramp({3}, 1)}),
                {1.125, -0.5, -0.75, -1}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::matmul", "", {ramp({0, 3}), ramp({3, 2})}), {}, DType::kFloat32,
                {0, 2});
  expect_tensor(result_of("aten::mm", "", {ramp({2, 0}), ramp({0, 2})}), {0, 0, 0, 0},
                DType::kFloat32, {2, 2});
  EXPECT_THROW(call_op("aten::mm", "", {ramp({2, 3}), ramp({2, 3})}), Error);
  EXPECT_THROW(call_op("aten::matmul", "", {ramp({2, 3}), ramp({3, 2}, 0, DType::kFloat64)}),
               Error);
  EXPECT_THROW(call_op("aten::dot", "", {ramp({3}), ramp({4})}), Error);
}

TEST(MatrixProducts, OtherTypes) {
  expect_tensor(result_of("aten::mm", "",
                          {ramp({2, 3}, 0, DType::kFloat64), ramp({3, 2}, 1, DType::kFloat64)}),
                {0.25, -1.9375, -1.3125, 1.375}, DType::kFloat64, {2, 2});
  expect_tensor(result_of("aten::mm", "", {ints({1, 2, 3, 4}, {2, 2}), ints({5, 6, 7, 8}, {2, 2})}),
                {19, 22, 43, 50}, DType::kInt64, {2, 2});
  expect_tensor(
      result_of("aten::mm", "",
                {make({200, 2}, DType::kUInt8, {1, 2}), make({2, 3}, DType::kUInt8, {2, 1})}),
      {150}, DType::kUInt8, {1, 1});
  expect_tensor(result_of("aten::outer", "", {ints({1, 2}), make({3, 4})}), {3, 4, 6, 8},
                DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::inner", "", {ramp({2, 3}), ramp({2, 3}, 1)}),
                {1.125, 1.4375, -0.5, -0.6875}, DType::kFloat32, {2, 2});
}

TEST(MatrixProducts, Linear) {
  expect_tensor(result_of("aten::linear", "", {ramp({2, 2, 3}), ramp({4, 3}, 1), ramp({4}, 2)}),
                {1.375, 0.6875, 2.75, 2.0625, -0.25, -1.4375, 0.125, -1.0625, -0.5, -1.5, 0.25,
                 -0.75, -0.75, -1.5625, 0.375, -0.4375},
                DType::kFloat32, {2, 2, 4});
  expect_tensor(result_of("aten::linear", "", {ramp({3}), ramp({2, 3}, 1), Value()}),
                {1.125, 1.4375}, DType::kFloat32, {2});
  expect_tensor(result_of("aten::linear", "", {ramp({2, 3}), ramp({3}, 1), Value()}), {1.125, -0.5},
                DType::kFloat32, {2});
  EXPECT_THROW(call_op("aten::linear", "", {ramp({3, 4}), ramp({5, 5}), Value()}), Error);
}

TEST(MatrixProducts, ScaledSums) {
  expect_tensor(result_of("aten::addmm", "", {ramp({2}), ramp({2, 3}, 1), ramp({3, 2}, 2), 0.5, 2}),
                {1.125, 1.375, 1, 1.375}, DType::kFloat32, {2, 2});
  expect_tensor(
      result_of("aten::addmm", "", {make({kNan, 1}), ramp({2, 3}, 1), ramp({3, 2}, 2), 0, 1}),
      {0.875, 0.5625, 0.8125, 0.5625}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::addmv", "", {ramp({2}), ramp({2, 3}, 1), ramp({3}, 2), 2, -1}),
                {-1.6875, 1.9375}, DType::kFloat32, {2});
  expect_tensor(result_of("aten::addr", "", {ramp({2, 2}), ramp({2}, 1), ramp({2}, 2), 1, 1}),
                {-1.375, 0.875, -0.1875, 0.3125}, DType::kFloat32, {2, 2});
  expect_tensor(
      result_of("aten::addbmm", "", {ramp({2, 2}), ramp({2, 2, 3}, 1), ramp({2, 3, 2}, 2), 1, 0.5}),
      {-0.65625, 1.1875, -0.125, 2.125}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::baddbmm", "",
                          {ramp({2, 1, 2}), ramp({2, 2, 3}, 1), ramp({2, 3, 2}, 2), 1, 0.5}),
                {-0.8125, 0.78125, -0.84375, 0.78125, -0.34375, 1.65625, -0.53125, 1.84375},
                DType::kFloat32, {2, 2, 2});
  expect_tensor(result_of("aten::addmm", "",
                          {ints({1}), ints({1, 2}, {1, 2}), ints({3, 4}, {2, 1}), 0.6, 0.2}),
                {0}, DType::kInt64, {1, 1});
  EXPECT_THROW(call_op("aten::addr", "", {ints({1}), ints({1}), ints({1}), 0.5, 1}), Error);
}

TEST(MatrixProducts, OuterSums) {
  const Tensor by_rows = ints({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor by_columns = transpose(ints({1, 4, 2, 5, 3, 6}, {3, 2}), 0, 1);
  const Tensor x = ints({2, -1}), y = ints({1, 0, 3});
  for (const Tensor& self : {by_rows, by_columns}) {
    for (const DType dtype : {DType::kInt64, DType::kFloat32, DType::kFloat16, DType::kComplex64}) {
      const auto sum = [&](int64_t beta, int64_t alpha) {
        const Tensor result =
            result_of("aten::addr", "", {self.to(dtype), x.to(dtype), y.to(dtype), beta, alpha});
        EXPECT_EQ(result.stride(0) == 1, self.stride(0) == 1);
        return result.to(DType::kFloat64);
      };
      const auto expect = [](const Tensor& answer, std::vector<double> expected) {
        expect_tensor(answer, expected, DType::kFloat64, {2, 3});
      };
      expect(sum(1, 1), {3, 2, 9, 3, 5, 3});
      expect(sum(-2, 3), {4, -4, 12, -11, -10, -21});
      expect(sum(0, 2), {4, 0, 12, -2, 0, -6});
    }
    const Tensor some = result_of("aten::ge", "Scalar", {self, 5});
    const auto either = [&](bool beta, bool alpha) {
      return result_of("aten::addr", "",
                       {some, x.to(DType::kBool), y.to(DType::kBool), beta, alpha});
    };
    expect_tensor(either(true, true), {1, 0, 1, 1, 1, 1}, DType::kBool, {2, 3});
    expect_tensor(either(true, false), {0, 0, 0, 0, 1, 1}, DType::kBool, {2, 3});
    expect_tensor(either(false, true), {1, 0, 1, 1, 0, 1}, DType::kBool, {2, 3});
  }
  expect_tensor(result_of("aten::addr", "", {make({kNan}), make({1, 2}), make({3}), 0, 1}), {3, 6},
                DType::kFloat32, {2, 1});
  expect_tensor(result_of("aten::addr", "", {make({1, 2}), make({}), make({3, 4})}), {},
                DType::kFloat32, {0, 2});
}

TEST(MatrixProducts, ByName) {
  expect_tensor(result_of("aten::einsum", "",
                          {"ij,jk->ki", make_tensor_list({ramp({2, 3}), ramp({3, 2}, 1)})}),
                {0.25, -1.3125, -1.9375, 1.375}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::einsum", "", {"...ii->...i", make_tensor_list({ramp({2, 3, 3})})}),
                {-1.25, 0.25, -1, 0.75, -0.5, 1}, DType::kFloat32, {2, 3});
  expect_tensor(result_of("aten::einsum", "",
                          {"ij->", make_tensor_list({make({1, 2}, DType::kUInt8, {1, 2})})}),
                {3}, DType::kInt64, {});
  expect_tensor(result_of("aten::einsum", "",
                          {"bi,bj,ij->b",
                           make_tensor_list({ramp({2, 2}), ramp({2, 3}, 1), ramp({2, 3}, 2)})}),
                {0.484375, -0.78125}, DType::kFloat32, {2});
  expect_tensor(
      result_of("aten::tensordot", "",
                {ramp({2, 3, 2}), ramp({3, 2, 2}, 1), int_list({1, 0}), int_list({0, 1})}),
      {1.1875, -3.25, -0.1875, 2.75}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::chain_matmul", "",
                          {make_tensor_list({ramp({2, 3}), ramp({3, 1}, 1), ramp({1, 2}, 2)})}),
                {0.28125, -0.84375, -0.125, 0.375}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::bilinear", "",
                          {ramp({2, 2}), ramp({2, 3}, 1), ramp({2, 2, 3}, 2), ramp({2}, 3)}),
                {1.484375, 2.578125, 0.21875, 2.5625}, DType::kFloat32, {2, 2});
  EXPECT_THROW(
      call_op("aten::einsum", "", {"ij,jk->ix", make_tensor_list({ramp({2, 3}), ramp({3, 2}, 1)})}),
      Error);
  EXPECT_THROW(call_op("aten::einsum", "", {"i.j->i", make_tensor_list({ramp({2, 3})})}), Error);
}

}  // namespace
}  // namespace torchlet::ops
