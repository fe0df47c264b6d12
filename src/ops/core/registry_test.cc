#include <set>

#include "ops/core/schema_text.h"
#include "ops/core/testing.h"

namespace torchlet::ops {
namespace {

constexpr DType kF32 = DType::kFloat32, kF64 = DType::kFloat64, kI64 = DType::kInt64;

// Listing them parses every schema and compares it with the number of arguments of its function.
TEST(Registry, EveryOperatorHasItsOwnName) {
  std::set<std::string> names;
  for (const Operator* op : all_operators()) {
    EXPECT_TRUE(names.insert(op->schema.full_name()).second) << op->schema.str();
    EXPECT_NE(op->fn, nullptr) << op->schema.str();
    EXPECT_EQ(op->name.str(), op->schema.name);
    EXPECT_EQ(find_operator(op->schema.name, op->schema.overload), op);
  }
  EXPECT_GT(names.size(), 1900u);
}

TEST(Registry, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(find_operator("aten::add", "nothing"), nullptr);
  EXPECT_EQ(find_operator("aten::nothing", ""), nullptr);
  EXPECT_TRUE(find_operators(Symbol("aten::nothing")).empty());
}

TEST(Registry, AnAliasHasTheOverloadsOfItsOperator) {
  EXPECT_NE(find_operator("aten::multiply", "Scalar"), nullptr);
  EXPECT_NE(find_operator("aten::multiply_", "Tensor"), nullptr);
  expect_tensor(result_of("aten::absolute", "", {make({-2, 3})}), {2, 3});
}

TEST(Registry, OneDeclarationForManyTypes) {
  auto text = [](const char* name, const char* overload) {
    const Operator* op = find_operator(name, overload);
    return op ? op->schema.str() : "";
  };
  EXPECT_EQ(text("aten::mul", "int"), "aten::mul.int(int a, int b) -> int");
  EXPECT_EQ(text("aten::mul", "int_float"), "aten::mul.int_float(int a, float b) -> float");
  EXPECT_EQ(text("aten::mul", "complex_int"), "aten::mul.complex_int(complex a, int b) -> complex");
  EXPECT_EQ(text("aten::log", "int_int"), "aten::log.int_int(int a, int b) -> float");
  EXPECT_EQ(text("aten::len", "Dict_str"), "aten::len.Dict_str(Dict[str, t] self) -> int");
  EXPECT_EQ(text("aten::mul", "$"), "");
}

TEST(Registry, OutOverloadsAreTriedLast) {
  bool after_out = false;
  for (const Operator* op : find_operators(Symbol("aten::max"))) {
    const bool is_out = !op->schema.arguments.empty() && op->schema.arguments.back().is_written;
    EXPECT_TRUE(is_out || !after_out) << op->schema.full_name();
    after_out = is_out;
  }
  EXPECT_TRUE(after_out);
}

TEST(Derived, InPlaceWritesIntoSelf) {
  const Tensor x = make({1, 2});
  EXPECT_TRUE(result_of("aten::add_", "Tensor", {x, ints({3, 4})}).is_same(x));
  expect_tensor(x, {4, 6});
  // The result must be castable to the dtype of self and broadcast to its shape.
  const Tensor whole = ints({1, 2});
  EXPECT_THROW(call_op("aten::add_", "Scalar", {whole, 1.5}), Error);
  EXPECT_THROW(call_op("aten::add_", "Tensor", {whole, make({0.5, 0.5})}), Error);
  EXPECT_THROW(call_op("aten::add_", "Tensor", {whole, ints({1, 2, 3})}), Error);
  EXPECT_THROW(call_op("aten::add_", "Tensor", {whole, ints({1, 2}, {1, 2})}), Error);
  expect_tensor(whole, {1, 2}, kI64);
  expect_tensor(result_of("aten::mul_", "Tensor", {make({1, 2}), make({3}, kF64)}), {3, 6});
  // Through a view, into the memory of another tensor.
  const Tensor matrix = make({1, 2, 3, 4}, kF32, {2, 2});
  call_op("aten::neg_", "", {select(matrix, 1, 0)});
  expect_tensor(matrix, {-1, 2, -3, 4}, kF32, {2, 2});
}

TEST(Derived, InPlaceViewsChangeTheShapeOfSelf) {
  const Tensor x = make({1, 2, 3, 4, 5, 6}, kF32, {2, 3});
  const Tensor same_memory = view(x, IntArray{6});
  EXPECT_TRUE(result_of("aten::t_", "", {x}).is_same(x));
  expect_tensor(x, {1, 4, 2, 5, 3, 6}, kF32, {3, 2});
  call_op("aten::neg_", "", {x});
  expect_tensor(same_memory, {-1, -2, -3, -4, -5, -6});
}

TEST(Derived, OutIsResizedAndCast) {
  const Tensor a = make({1, 2}), b = make({3, 4});
  const Tensor same = make({0, 0}, kF64);
  EXPECT_TRUE(result_of("aten::add", "out", {a, b, 1, same}).is_same(same));
  expect_tensor(same, {4, 6}, kF64);
  const Tensor none = empty(IntArray{0}, kF32);
  call_op("aten::add", "out", {a, b, 2, none});
  expect_tensor(none, {7, 10});
  const Tensor larger = make({9, 9, 9, 9}, kF32, {2, 2});
  call_op("aten::add", "out", {a, b, 1, larger});
  expect_tensor(larger, {4, 6});
  EXPECT_THROW(call_op("aten::add", "out", {a, b, 1, ints({0, 0})}), Error);
  // A view keeps its strides and its neighbours.
  const Tensor matrix = make({1, 2, 3, 4}, kF32, {2, 2});
  call_op("aten::add", "out", {a, b, 1, select(matrix, 1, 1)});
  expect_tensor(matrix, {1, 4, 3, 6}, kF32, {2, 2});
  // Out may be an input.
  call_op("aten::mul", "out", {a, a, a});
  expect_tensor(a, {1, 4});
}

TEST(Derived, SeveralOuts) {
  const Tensor values = empty(IntArray{0}, kF32), indices = empty(IntArray{0}, kI64);
  const Value result = call_op("aten::max", "dim_max",
                               {make({1, 5, 7, 2}, kF32, {2, 2}), 1, false, values, indices});
  EXPECT_TRUE(result.to_tuple()[1].to_tensor().is_same(indices));
  expect_tensor(values, {5, 7});
  expect_tensor(indices, {1, 0}, kI64);
}

TEST(Derived, CopiesAndFunctionalForms) {
  const Tensor x = make({1, 2, 3, 4}, kF32, {2, 2});
  const Tensor row = result_of("aten::select_copy", "int", {x, 0, 1});
  call_op("aten::zero_", "", {row});
  expect_tensor(x, {1, 2, 3, 4}, kF32, {2, 2});
  const Tensor copied =
      result_of("aten::index_copy", "", {x, 0, ints({1}), make({8, 9}, kF32, {1, 2})});
  expect_tensor(copied, {1, 2, 8, 9}, kF32, {2, 2});
  expect_tensor(x, {1, 2, 3, 4}, kF32, {2, 2});
}

TEST(SchemaText, IsTheSameAfterPacking) {
  constexpr char kText[] = "aten::add.$Odd(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
  static constexpr auto kPacked = pack_schema<packed_size(kText)>(kText);
  EXPECT_EQ(unpack_schema(kPacked.bytes), kText);
  EXPECT_EQ(unpack_schema_name(kPacked.bytes), "aten::add");
  EXPECT_LT(sizeof(kPacked), sizeof(kText) / 2);
  static constexpr auto kWords =
      pack_schema<packed_size("size(int dim) -> int")>("size(int dim) -> int");
  EXPECT_EQ(unpack_schema(kWords.bytes), "size(int dim) -> int");
  EXPECT_EQ(unpack_schema_name(kWords.bytes), "size");
}

}  // namespace
}  // namespace torchlet::ops
