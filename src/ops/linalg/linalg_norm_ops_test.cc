// Norms, products, powers and exponentials.
// Expected numbers are PyTorch 1.13's; where LAPACK leaves signs free, the product of the factors
// is compared instead.
#include "ops/linalg/testing.h"

namespace torchlet::ops {
namespace {

TEST(Linalg, LargeExponentials) {
  for (const DType dtype : {kF32, DType::kFloat64, DType::kComplex128}) {
    for (const double size : {0.01, 0.3, 4.0}) {  // without halving, and with some
      const Tensor a = result_of("aten::mul", "Scalar", {scattered({40, 40}), size}).to(dtype);
      const Tensor e = result_of("aten::linalg_matrix_exp", "", {a});
      const Tensor back =
          result_of("aten::linalg_matrix_exp", "", {result_of("aten::neg", "", {a})});
      const double scale = max_of(e) * max_of(back) * 40;
      expect_close(matmul(e, back), result_of("aten::eye", "", {40}).to(dtype),
                   scale * (dtype == kF32 ? 1e-5 : 1e-13));
    }
  }
}

TEST(Linalg, PowersAndExponentials) {
  expect_tensor(result_of("aten::linalg_matrix_power", "", {square({1, 1, 1, 0}), 5}), {8, 5, 5, 3},
                kF32, {2, 2});
  expect_tensor(result_of("aten::matrix_power", "", {square({2, 0, 0, 4}), -2}),
                {0.25, 0, 0, 0.0625}, kF32, {2, 2});
  expect_tensor(result_of("aten::matrix_power", "", {square({2, 0, 0, 4}), 0}), {1, 0, 0, 1}, kF32,
                {2, 2});
  expect_tensor(result_of("aten::linalg_matrix_exp", "", {square({0, 1, 0, 0})}), {1, 1, 0, 1},
                kF32, {2, 2});
  expect_tensor(result_of("aten::matrix_exp", "", {square({0, -1, 1, 0})}),
                {0.540302306, -0.841470985, 0.841470985, 0.540302306}, kF32, {2, 2});
}

TEST(Linalg, Norms) {
  const Tensor a = square({1, 2, 3, 4});
  auto norm = [&](Value order) { return result_of("aten::linalg_norm", "", {a, order}); };
  expect_tensor(norm(Value()), {5.477225780}, kF32, {});
  expect_tensor(norm(2), {5.464985847}, kF32, {});
  expect_tensor(norm(1), {6}, kF32, {});
  expect_tensor(result_of("aten::linalg_norm", "ord_str", {a, "nuc"}), {5.830951691}, kF32, {});
  expect_tensor(result_of("aten::nuclear_norm", "", {a}), {5.830951691}, kF32, {});
  expect_tensor(result_of("aten::linalg_matrix_norm", "", {a, kInf, int_list({-2, -1}), true}), {7},
                kF32, {1, 1});
  EXPECT_THROW(call_op("aten::linalg_matrix_norm", "", {a, 3}), Error);
  expect_tensor(result_of("aten::linalg_cond", "", {square({0, 0, 0, 0}), 1}), {kInf}, kF32, {});
  expect_tensor(result_of("aten::linalg_cond", "", {a}), {14.933039665}, kF32, {});
  expect_tensor(result_of("aten::linalg_cond", "", {a, 1}), {21}, kF32, {});
  expect_tensor(result_of("aten::linalg_cond", "p_str", {square({1, 2, 2, 4}), "fro"}), {kInf},
                kF32, {});
  expect_tensor(result_of("aten::norm_except_dim", "", {square({3, 4, 6, 8})}), {5, 10}, kF32,
                {2, 1});
}

TEST(Linalg, WeightNorm) {
  const Tensor v = ramp({2, 2, 2});
  const auto weight = [&](const Tensor& g, int64_t dim) {
    return result_of("aten::_weight_norm", "", {v, g, dim});
  };
  expect_tensor(
      weight(make({2, 3}, kF32, {2, 1, 1}), 0),
      {-1.31306422, 0.525225699, -0.525225699, 1.31306422, 0.588348389, -1.76504517, 2.35339355, 0},
      kF32, {2, 2, 2});
  expect_tensor(
      weight(make({2, 3}, kF32, {1, 2, 1}), 1),
      {-1.60128164, 0.640512645, -0.89442718, 2.23606801, 0.320256323, -0.960768938, 1.78885436, 0},
      kF32, {2, 2, 2});
  expect_tensor(
      weight(make({2, 3}, kF32, {1, 1, 2}), 2),
      {-1.47441959, 0.973328531, -0.589767814, 2.43332124, 0.294883907, -1.45999277, 1.17953563, 0},
      kF32, {2, 2, 2});
  expect_tensor(weight(make({2}, kF32, {}), -1),
                {-1.09108937, 0.436435759, -0.436435759, 1.09108937, 0.21821788, -0.654653668,
                 0.872871518, 0},
                kF32, {2, 2, 2});
  // At the ends g need only have the right number of elements, and the norms come in its shape.
  const Tensor flat = make({2, 3});
  for (const int64_t dim : {0, 2}) {
    const Tensor kept = reshape(flat, dim == 0 ? IntArray{2, 1, 1} : IntArray{1, 1, 2});
    expect_tensor(weight(flat, dim), elements_of(weight(kept, dim)), kF32, {2, 2, 2});
  }
  const Value both = call_op("aten::_weight_norm_interface", "", {v, flat, 0});
  expect_tensor(both.to_tuple()[1].to_tensor(), {1.9039433, 1.27475488});
  EXPECT_THROW(weight(make({1, 2, 3}), 1), Error);
  EXPECT_THROW(weight(make({1, 2, 3}), 0), Error);
  EXPECT_THROW(call_op("aten::_weight_norm_interface", "", {v, v, 1}), Error);
}

// Matrices in either order of memory, with a factor for each row, each column and for both.
TEST(Linalg, WeightNormOfMatrices) {
  const Tensor x = ramp({37, 21}), g = ramp({37, 1}, 3), h = ramp({1, 21}, 5);
  for (const Tensor& v : {x, transpose(transpose(x, 0, 1).contiguous(), 0, 1)}) {
    for (const auto& [factors, dim] :
         {std::pair(g, 0), std::pair(h, 1), std::pair(g, -1), std::pair(h, -1)}) {
      const Tensor expected = result_of("aten::_weight_norm", "",
                                        {v.to(DType::kFloat64), factors.to(DType::kFloat64), dim});
      expect_tensor(result_of("aten::_weight_norm", "", {v, factors, dim}), elements_of(expected),
                    kF32, {37, 21});
    }
  }
}

// Rows of floats are multiplied where their norms are found, a block of them at a time.
TEST(Linalg, WeightNormOfRows) {
  for (const IntArray& sizes : {IntArray{500, 130}, IntArray{9, 5, 7, 7}, IntArray{3, 40000}}) {
    const Tensor v = ramp(sizes), g = ramp(IntArray{sizes[0]}, 3);
    const Value wide =
        call_op("aten::_weight_norm_interface", "", {v.to(DType::kFloat64), g.to(DType::kFloat64)});
    const Value both = call_op("aten::_weight_norm_interface", "", {v, g});
    for (size_t i = 0; i < 2; ++i) {
      const Tensor expected = wide.to_tuple()[i].to_tensor();
      expect_tensor(both.to_tuple()[i].to_tensor(), elements_of(expected), kF32,
                    IntArray(expected.sizes()));
    }
  }
}

TEST(Linalg, Products) {
  const Value chain =
      make_tensor_list({make({1, 2}, kF32, {1, 2}), square({1, 0, 2, 1}), make({3, 4})});
  expect_tensor(result_of("aten::linalg_multi_dot", "", {chain}), {23});
  expect_tensor(result_of("aten::linalg_cross", "", {make({1, 0, 0}), make({0, 1, 0})}), {0, 0, 1});
  expect_tensor(result_of("aten::linalg_vander", "", {make({1, 2, 3}), 4}),
                {1, 1, 1, 1, 1, 2, 4, 8, 1, 3, 9, 27}, kF32, {3, 4});
  expect_tensor(result_of("aten::linalg_vander", "", {ints({1, 2})}), {1, 1, 1, 2}, kI64, {2, 2});
  const Tensor eye = view(result_of("aten::eye", "", {4}), IntArray{2, 2, 4});
  expect_tensor(result_of("aten::linalg_tensorsolve", "", {eye, square({1, 2, 3, 4})}),
                {1, 2, 3, 4});
  EXPECT_THROW(call_op("aten::linalg_tensorsolve", "", {make({1}, kF32, {}), eye}), Error);
  expect_tensor(result_of("aten::trace", "", {square({1, 2, 3, 4}, kI64)}), {5}, kI64, {});
}

}  // namespace
}  // namespace torchlet::ops
