#include "ops/core/testing.h"
#include "ops/sparse/sparse.h"

// Expected answers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

constexpr DType kF32 = DType::kFloat32;

// [[0, 2, 0], [-1, 0, 3]]; the last value comes as 1 + 2 unless it is coalesced.
Tensor coo(bool coalesced = true) {
  const Tensor sparse =
      make_sparse(ints({1, 0, 1, 1, 0, 1, 2, 2}, {2, 4}), make({-1, 2, 1, 2}), IntArray{2, 3});
  return coalesced ? coalesce(sparse) : sparse;
}
Tensor csr() { return result_of("aten::to_sparse_csr", "", {coo()}); }
std::vector<Tensor> all_forms() { return {coo(), coo(false), csr()}; }

void expect_sparse(const Tensor& actual, std::vector<double> dense, IntArray sizes) {
  EXPECT_TRUE(actual.impl()->sparse);
  expect_tensor(to_dense(actual), std::move(dense), kF32, sizes);
}

TEST(Sparse, MadeDense) {
  for (const Tensor& sparse : all_forms()) {
    expect_tensor(result_of("aten::to_dense", "", {sparse}), {0, 2, 0, -1, 0, 3}, kF32, {2, 3});
  }
}

TEST(Sparse, ProductsWithDenseTensors) {
  const Tensor x = make({1, 2, 3, 4, 5, 6}, kF32, {3, 2}), y = make({1, 2, 3, 4}, kF32, {2, 2});
  for (const Tensor& sparse : all_forms()) {
    for (const char* name : {"aten::mm", "aten::matmul", "aten::_sparse_mm"}) {
      expect_tensor(result_of(name, "", {sparse, x}), {6, 8, 14, 16}, kF32, {2, 2});
      expect_tensor(result_of(name, "", {y, sparse}), {-2, 2, 6, -4, 6, 12}, kF32, {2, 3});
    }
    expect_tensor(result_of("aten::mv", "", {sparse, make({1, 2, 3})}), {4, 8});
    expect_tensor(result_of("aten::matmul", "", {sparse, make({1, 2, 3})}), {4, 8});
    expect_tensor(result_of("aten::matmul", "", {reshape(y, IntArray{2, 1, 2}), sparse}),
                  {-2, 2, 6, -4, 6, 12}, kF32, {2, 1, 3});
    expect_tensor(result_of("aten::linear", "", {make({1, 2, 3}), sparse, make({10, 20})}),
                  {14, 28});
    expect_tensor(result_of("aten::linear", "", {transpose(x, 0, 1), sparse}), {6, 14, 8, 16}, kF32,
                  {2, 2});
    expect_tensor(result_of("aten::addmm", "", {y, sparse, x, 2, 0.5}), {5, 8, 13, 16}, kF32,
                  {2, 2});
    EXPECT_THROW(call_op("aten::mm", "", {sparse, y}), Error);
  }
  const Tensor into = y.clone();
  call_op("aten::addmm_", "", {into, coo(), x});
  expect_tensor(into, {7, 10, 17, 20}, kF32, {2, 2});
}

TEST(Sparse, ProductsOfTwo) {
  const Tensor turned = result_of("aten::t", "", {coo()});
  expect_sparse(result_of("aten::mm", "", {coo(), turned}), {4, 0, 0, 10}, {2, 2});
  EXPECT_EQ(call_op("aten::_nnz", "", {result_of("aten::mm", "", {coo(), turned})}).to_int(), 2);
}

TEST(Sparse, SumsAndProductsElementByElement) {
  const Tensor dense = make({1, 2, 3, 4, 5, 6}, kF32, {2, 3});
  for (const Tensor& sparse : all_forms()) {
    expect_sparse(result_of("aten::add", "Tensor", {sparse, sparse, 2}), {0, 6, 0, -3, 0, 9},
                  {2, 3});
    expect_sparse(result_of("aten::sub", "Tensor", {sparse, sparse}), {0, 0, 0, 0, 0, 0}, {2, 3});
    expect_tensor(result_of("aten::add", "Tensor", {dense, sparse}), {1, 4, 3, 3, 5, 9}, kF32,
                  {2, 3});
    expect_sparse(result_of("aten::mul", "Tensor", {sparse, dense}), {0, 4, 0, -4, 0, 18}, {2, 3});
    expect_sparse(result_of("aten::mul", "Tensor", {dense, sparse}), {0, 4, 0, -4, 0, 18}, {2, 3});
    expect_sparse(result_of("aten::mul", "Tensor", {sparse, sparse}), {0, 4, 0, 1, 0, 9}, {2, 3});
    expect_sparse(result_of("aten::mul", "Scalar", {sparse, 2}), {0, 4, 0, -2, 0, 6}, {2, 3});
    expect_sparse(result_of("aten::div", "Tensor", {sparse, make({2}, kF32, {})}),
                  {0, 1, 0, -0.5, 0, 1.5}, {2, 3});
    expect_sparse(result_of("aten::abs", "", {sparse}), {0, 2, 0, 1, 0, 3}, {2, 3});
    expect_sparse(result_of("aten::pow", "Tensor_Scalar", {sparse, 2}), {0, 4, 0, 1, 0, 9}, {2, 3});
    EXPECT_THROW(call_op("aten::add", "Tensor", {sparse, dense}), Error);
    EXPECT_THROW(call_op("aten::div", "Tensor", {sparse, sparse}), Error);
    EXPECT_THROW(call_op("aten::exp", "", {sparse}), Error);
    expect_tensor(result_of("aten::norm", "Scalar", {sparse}), {3.74165738}, kF32, {});
  }
  const Tensor changed = coo();
  call_op("aten::mul_", "Scalar", {changed, 3});
  expect_sparse(changed, {0, 6, 0, -3, 0, 9}, {2, 3});
  const Tensor filled = dense.clone();
  call_op("aten::add_", "Tensor", {filled, coo()});
  expect_tensor(filled, {1, 4, 3, 3, 5, 9}, kF32, {2, 3});
}

TEST(Sparse, ValuesThatAreThereOnlyInOneDoNotMeet) {
  const Tensor other = make_sparse(ints({0, 1, 0, 2}, {2, 2}), make({5, 7}), IntArray{2, 3});
  const Tensor product = result_of("aten::mul", "Tensor", {coo(), other});
  expect_tensor(parts_of(product).indices, {1, 2}, DType::kInt64, {2, 1});
  expect_tensor(parts_of(product).values, {21});
}

TEST(Sparse, Structure) {
  for (const Tensor& sparse : all_forms()) {
    expect_sparse(result_of("aten::t", "", {sparse}), {0, -1, 2, 0, 0, 3}, {3, 2});
    expect_sparse(result_of("aten::transpose", "int", {sparse, -1, 0}), {0, -1, 2, 0, 0, 3},
                  {3, 2});
    expect_sparse(result_of("aten::permute", "", {sparse, int_list({1, 0})}), {0, -1, 2, 0, 0, 3},
                  {3, 2});
    expect_sparse(result_of("aten::select", "int", {sparse, 0, -1}), {-1, 0, 3}, {3});
    const Tensor column = result_of("aten::select", "int", {sparse, 1, 2});
    expect_tensor(result_of("aten::select", "int", {column, 0, 1}), {3}, kF32, {});
    EXPECT_THROW(call_op("aten::select", "int", {sparse, 0, 2}), Error);
    expect_sparse(result_of("aten::cat", "", {make_tensor_list({sparse, sparse}), 1}),
                  {0, 2, 0, 0, 2, 0, -1, 0, 3, -1, 0, 3}, {2, 6});
    EXPECT_EQ(call_op("aten::_nnz", "", {result_of("aten::zeros_like", "", {sparse})}).to_int(), 0);
  }
  const Tensor changed = coo();
  call_op("aten::transpose_", "", {changed, 0, 1});
  expect_sparse(changed, {0, -1, 2, 0, 0, 3}, {3, 2});
}

TEST(Sparse, SumsAndSoftmax) {
  expect_tensor(result_of("aten::_sparse_sum", "", {coo(false)}), {4}, kF32, {});
  expect_sparse(result_of("aten::_sparse_sum", "dim", {coo(false), int_list({0})}), {-1, 2, 3},
                {3});
  expect_tensor(result_of("aten::_sparse_sum", "dim", {coo(false), int_list({0, 1})}), {4}, kF32,
                {});
  expect_sparse(result_of("aten::_sparse_softmax", "int", {coo(false), 1, Value()}),
                {0, 1, 0, 0.0179862101, 0, 0.982013762}, {2, 3});
  expect_sparse(result_of("aten::_sparse_log_softmax", "int", {coo(), 1, Value()}),
                {0, 0, 0, -4.01814985, 0, -0.0181499571}, {2, 3});
}

TEST(Sparse, CompressedRows) {
  const Tensor rows = result_of("aten::crow_indices", "", {csr()});
  expect_tensor(rows, {0, 1, 3}, DType::kInt64);
  expect_tensor(result_of("aten::col_indices", "", {csr()}), {1, 0, 2}, DType::kInt64);
  expect_tensor(result_of("aten::values", "", {csr()}), {2, -1, 3});
  EXPECT_THROW(call_op("aten::indices", "", {csr()}), Error);
  EXPECT_THROW(call_op("aten::crow_indices", "", {coo()}), Error);
  EXPECT_TRUE(call_op("prim::is_sparse_csr", "", {csr()}).to_bool());
  EXPECT_FALSE(call_op("prim::is_sparse", "", {csr()}).to_bool());
  EXPECT_TRUE(
      call_op("prim::is_sparse", "", {result_of("aten::to_sparse", "", {csr()})}).to_bool());
  const auto made = [](std::vector<double> begins, std::vector<double> columns) {
    return result_of("aten::sparse_csr_tensor", "crow_col_value_size",
                     {ints(begins), ints(columns), make({2, -1, 3}), int_list({2, 3}), Value(),
                      Value(), Value(), Value()});
  };
  expect_sparse(made({0, 1, 3}, {1, 0, 2}), {0, 2, 0, -1, 0, 3}, {2, 3});
  EXPECT_THROW(made({0, 4, 3}, {1, 0, 2}), Error);
  EXPECT_THROW(made({0, -1, 3}, {1, 0, 2}), Error);
  EXPECT_THROW(made({0, 3}, {1, 0, 2}), Error);
  EXPECT_THROW(made({0, 1, 3}, {1, 0, 3}), Error);
}

TEST(Sparse, NoMemoryIsReadWhereThereIsNone) {
  for (const Tensor& sparse : all_forms()) {
    EXPECT_THROW(call_op("aten::cos", "out", {ramp({4}), sparse}), Error);
    EXPECT_THROW(call_op("aten::zeros", "out", {int_list({4}), sparse}), Error);
    EXPECT_THROW(call_op("aten::view", "", {sparse, int_list({3, 2})}), Error);
  }
  const Tensor pairs = make_sparse(ints({0, 1}, {2, 1}), make({2}), IntArray{2, 2});
  EXPECT_THROW(call_op("aten::view_as_complex", "", {pairs}), Error);
}

TEST(Sparse, MaskOfADenseTensor) {
  expect_sparse(result_of("aten::sparse_mask", "", {make({1, 2, 3, 4, 5, 6}, kF32, {2, 3}), coo()}),
                {0, 2, 0, 4, 0, 6}, {2, 3});
}

}  // namespace
}  // namespace torchlet::ops
