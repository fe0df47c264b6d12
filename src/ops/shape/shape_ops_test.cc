// Views, joins, indexing, gather and scatter, masks, factories. Expectations are PyTorch's answers.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/core/testing.h"
#include "ops/shape/shape.h"
#include "tensor/containers.h"

namespace torchlet::ops {
namespace {

using Numbers = std::vector<double>;
using Sizes = std::vector<int64_t>;

Tensor counting(std::initializer_list<int64_t> sizes, DType dtype = DType::kFloat32) {
  int64_t numel = 1;
  for (int64_t size : sizes) numel *= size;
  Numbers numbers;
  for (int64_t i = 0; i < numel; ++i) numbers.push_back(static_cast<double>(i));
  return make(numbers, dtype, sizes);
}
Value int_list(std::vector<int64_t> items) { return make_int_list(items); }
std::vector<int64_t> sizes_of(const Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

TEST(OperatorList, EverySchemaParsesAndIsDeclaredOnce) {
  const std::vector<const Operator*> all = all_operators();
  ASSERT_GT(all.size(), 100u);
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_NE(all[i - 1]->schema.str(), all[i]->schema.str());
  }
}

TEST(ViewOps, ShareTheStorage) {
  const Tensor x = counting({2, 3, 4});
  const Tensor y = result_of("aten::transpose", "int", {x, 0, -1});
  EXPECT_EQ(sizes_of(y), (Sizes{4, 3, 2}));
  EXPECT_EQ(y.impl()->storage, x.impl()->storage);
  EXPECT_EQ(elements_of(result_of("aten::select", "int", {y, 0, 1})),
            (Numbers{1, 13, 5, 17, 9, 21}));
}

TEST(ViewOps, InPlaceFormsChangeSelf) {
  const Tensor x = counting({2, 1, 3});
  result_of("aten::squeeze_", "dim", {x, 1});
  EXPECT_EQ(sizes_of(x), (Sizes{2, 3}));
  result_of("aten::t_", "", {x});
  EXPECT_EQ(sizes_of(x), (Sizes{3, 2}));
  EXPECT_EQ(elements_of(x), (Numbers{0, 3, 1, 4, 2, 5}));
}

TEST(ViewOps, CopyFormsDoNotShare) {
  const Tensor x = counting({2, 3});
  const Tensor y = result_of("aten::permute_copy", "", {x, int_list({1, 0})});
  EXPECT_EQ(elements_of(y), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(y.impl()->storage == x.impl()->storage);
}

TEST(ViewOps, LiftingKeepsTheTensorOrCopies) {
  const Tensor x = ramp({3});
  for (const char* name : {"aten::lift", "aten::lift_fresh"}) {
    EXPECT_TRUE(result_of(name, "", {x}).is_same(x)) << name;
  }
  const Tensor lifted = result_of("aten::lift_fresh_copy", "", {x});
  expect_tensor(lifted, elements_of(x));
  EXPECT_NE(lifted.raw_data(), x.raw_data());
}

TEST(ViewOps, PixelShufflesDoNotShare) {
  const Tensor x = counting({1, 4, 3, 1}), y = counting({1, 1, 2, 2});
  EXPECT_FALSE(result_of("aten::pixel_shuffle", "", {x, 2}).impl()->storage == x.impl()->storage);
  EXPECT_FALSE(result_of("aten::pixel_unshuffle", "", {y, 2}).impl()->storage == y.impl()->storage);
}

TEST(ViewOps, UnfoldDiagonalMovedim) {
  EXPECT_EQ(elements_of(result_of("aten::unfold", "", {counting({5}), 0, 2, 2})),
            (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(elements_of(result_of("aten::diagonal", "", {counting({3, 4}), 1})),
            (Numbers{1, 6, 11}));
  EXPECT_EQ(elements_of(result_of("aten::diagonal", "", {counting({3, 4}), -2})), (Numbers{8}));
  EXPECT_EQ(sizes_of(result_of("aten::movedim", "intlist",
                               {counting({2, 3, 4}), int_list({0, 1}), int_list({-1, 0})})),
            (Sizes{3, 4, 2}));
}

TEST(ViewOps, WrongArgumentsAreErrors) {
  const Tensor x = counting({2, 3});
  EXPECT_THROW(result_of("aten::view", "", {x, int_list({4, -1})}), Error);
  EXPECT_THROW(result_of("aten::transpose", "int", {x, 0, 2}), Error);
  EXPECT_THROW(result_of("aten::narrow", "", {x, 0, 1, 2}), Error);
  EXPECT_THROW(result_of("aten::as_strided", "", {x, int_list({3, 3}), int_list({3, 1})}), Error);
}

TEST(SplitOps, ChunksAndSections) {
  const Tensor x = counting({7});
  std::vector<Tensor> parts = call_op("aten::chunk", "", {x, 3}).to_tensor_list();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(elements_of(parts[2]), (Numbers{6}));
  parts = call_op("aten::tensor_split", "sections", {x, 3}).to_tensor_list();
  EXPECT_EQ(elements_of(parts[0]), (Numbers{0, 1, 2}));
  EXPECT_EQ(elements_of(parts[2]), (Numbers{5, 6}));
  parts = call_op("aten::tensor_split", "indices", {x, int_list({2, 1, 9})}).to_tensor_list();
  EXPECT_EQ(elements_of(parts[1]), Numbers{});
  EXPECT_EQ(elements_of(parts[2]), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW(call_op("aten::split", "sizes", {x, int_list({3, 3})}), Error);
}

TEST(JoinOps, CatPromotesAndSkipsLegacyEmpties) {
  const Tensor a = counting({2, 2}, DType::kInt32), none = empty(IntArray{0}, DType::kFloat64);
  const Tensor y = cat({a, none, counting({2, 1})}, 1);
  EXPECT_EQ(y.dtype(), DType::kFloat64);
  EXPECT_EQ(elements_of(y), (Numbers{0, 1, 0, 2, 3, 1}));
  EXPECT_THROW(cat({a, counting({3, 1})}, 1), Error);
}

TEST(JoinOps, CatKeepsChannelsLast) {
  const Tensor x = counting({1, 2, 2, 2}).contiguous(MemoryFormat::kChannelsLast);
  const Tensor y = cat({x, x}, 1);
  EXPECT_TRUE(y.is_contiguous(MemoryFormat::kChannelsLast));
  EXPECT_EQ(elements_of(y), (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(JoinOps, StackMeshgridCombinations) {
  EXPECT_EQ(elements_of(stack({counting({2}), counting({2})}, -1)), (Numbers{0, 0, 1, 1}));
  const auto grids = call_op("aten::meshgrid", "indexing",
                             {make_tensor_list({counting({2}), counting({3})}), "xy"})
                         .to_tensor_list();
  EXPECT_EQ(sizes_of(grids[0]), (Sizes{3, 2}));
  EXPECT_EQ(elements_of(grids[0]), (Numbers{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(elements_of(result_of("aten::combinations", "", {counting({3}), 2, true})),
            (Numbers{0, 0, 0, 1, 0, 2, 1, 1, 1, 2, 2, 2}));
}

TEST(IndexOps, AdjacentAndSeparateIndices) {
  const Tensor x = counting({2, 3, 4});
  // x[:, [2, 0]] and x[[1, 0], :, [3, 0]]
  EXPECT_EQ(elements_of(index(x, {Tensor(), ints({2, 0})})),
            (Numbers{8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13, 14, 15}));
  const Tensor y = index(x, {ints({1, 0}), Tensor(), ints({3, -4})});
  EXPECT_EQ(sizes_of(y), (Sizes{2, 3}));
  EXPECT_EQ(elements_of(y), (Numbers{15, 19, 23, 0, 4, 8}));
  EXPECT_THROW(index(x, {ints({2})}), Error);
}

TEST(IndexOps, Masks) {
  const Tensor x = counting({2, 3});
  const Tensor mask = make({1, 0, 1, 0, 1, 0}, DType::kBool, {2, 3});
  EXPECT_EQ(elements_of(index(x, {mask})), (Numbers{0, 2, 4}));
  result_of("aten::index_put_", "", {x, make_tensor_list({mask}), scalar_tensor(9, DType::kInt64)});
  EXPECT_EQ(elements_of(x), (Numbers{9, 1, 9, 3, 9, 5}));
  EXPECT_THROW(index(x, {Tensor(), ints({1, 0}).to(DType::kBool)}), Error);
}

TEST(IndexOps, AccumulateCountsRepeats) {
  const Tensor x = zeros(IntArray{3}, DType::kFloat32);
  result_of("aten::index_put_", "",
            {x, make_tensor_list({ints({1, 1, 2})}), make({1, 2, 4}, DType::kFloat32, {3}), true});
  EXPECT_EQ(elements_of(x), (Numbers{0, 3, 4}));
}

TEST(IndexOps, AlongOneDimension) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(elements_of(index_select(x, 1, ints({2, 2}))), (Numbers{2, 2, 5, 5}));
  EXPECT_EQ(
      elements_of(result_of("aten::index_add", "", {x, 1, ints({0, 0}), counting({2, 2}), 2})),
      (Numbers{2, 1, 2, 13, 4, 5}));
  EXPECT_EQ(elements_of(result_of("aten::index_fill", "int_Scalar", {x, 1, ints({-1}), 7.0})),
            (Numbers{0, 1, 7, 3, 4, 7}));
  EXPECT_EQ(elements_of(result_of("aten::index_copy", "", {x, 0, ints({1}), counting({1, 3})})),
            (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(elements_of(x), (Numbers{0, 1, 2, 3, 4, 5}));  // functional forms left x alone
  EXPECT_EQ(elements_of(result_of("aten::take", "", {x, ints({-1, 0})})), (Numbers{5, 0}));
}

TEST(RearrangeOps, FlipsOfEveryWidthAndTail) {
  for (const DType dtype : {DType::kUInt8, DType::kFloat16, DType::kFloat32, DType::kInt64}) {
    for (const int64_t length : {1, 7, 8, 20}) {
      const Tensor x = counting({3, length}, dtype);
      Numbers expected;
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = length; j-- > 0;) expected.push_back(static_cast<double>(i * length + j));
      }
      expect_tensor(result_of("aten::flip", "", {x, int_list({1})}), expected, dtype, {3, length});
    }
  }
}

TEST(RearrangeOps, RepeatsEachElementAsOften) {
  const Tensor x = counting({2, 3});
  const auto repeated = [](const Tensor& t, int64_t times, const Value& dim) {
    return result_of("aten::repeat_interleave", "self_int", {t, times, dim, Value()});
  };
  expect_tensor(repeated(x, 2, Value()), {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  expect_tensor(repeated(transpose(x, 0, 1), 2, -1), {0, 0, 3, 3, 1, 1, 4, 4, 2, 2, 5, 5},
                DType::kFloat32, {3, 4});
  expect_tensor(repeated(x, 3, 0), {0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 3, 4, 5},
                DType::kFloat32, {6, 3});
  expect_tensor(repeated(x, 0, 1), {}, DType::kFloat32, {2, 0});
  const Tensor once = repeated(x, 1, 0);
  EXPECT_NE(once.raw_data(), x.raw_data());
  EXPECT_THROW(repeated(x, -1, 0), Error);
  EXPECT_THROW(call_op("aten::repeat_interleave", "self_int", {x, 2, 0, 5}), Error);
}

// Whatever the order of memory, the last of the elements that share a place stays.
TEST(GatherOps, ScattersKeepTheLast) {
  const Tensor index = make({0, 1, 0, 2, 2, 2}, DType::kInt64, {2, 3}), from = counting({2, 3});
  const auto turned = [](const Tensor& t) {
    return transpose(transpose(t, 0, 1).contiguous(), 0, 1);
  };
  for (const Tensor& at : {index, turned(index)}) {
    for (const Tensor& source : {from, turned(from)}) {
      const Tensor zero = zeros({{2, 4}}, DType::kFloat32);
      expect_tensor(result_of("aten::scatter", "src", {zero, 1, at, source}),
                    {2, 1, 0, 0, 0, 0, 5, 0}, DType::kFloat32, {2, 4});
    }
  }
}

TEST(GatherOps, GatherAndScatter) {
  const Tensor x = counting({2, 3});
  const Tensor index = make({2, 0, 1, 1}, DType::kInt64, {2, 2});
  EXPECT_EQ(elements_of(gather(x, 1, index)), (Numbers{2, 0, 4, 4}));
  EXPECT_EQ(elements_of(result_of("aten::scatter_add", "", {x, 1, index, counting({2, 2})})),
            (Numbers{1, 1, 2, 3, 9, 5}));
  EXPECT_EQ(elements_of(result_of("aten::scatter", "value", {x, 1, index, 8.0})),
            (Numbers{8, 1, 8, 3, 8, 5}));
  EXPECT_THROW(gather(x, 1, ints({0})), Error);
  EXPECT_THROW(gather(x, 0, index), Error);
}

TEST(GatherOps, ScatterReduce) {
  const Tensor x = make({0, -1, -2, -3}, DType::kInt32, {4});
  const Tensor zero = make({0, 0, 0}, DType::kInt32, {3});
  EXPECT_EQ(
      elements_of(result_of("aten::scatter_reduce", "two", {x, 0, ints({1, 2, 2}), zero, "mean"})),
      (Numbers{0, -1, -1, -3}));
  const Tensor nan = make({NAN, 3, 5}, DType::kFloat32, {3});
  const Tensor y = result_of("aten::scatter_reduce", "two",
                             {counting({4}), 0, ints({0, 1, 1}), nan, "amax", false});
  EXPECT_TRUE(std::isnan(elements_of(y)[0]));
  EXPECT_EQ(elements_of(y)[1], 5);
  EXPECT_EQ(elements_of(y)[3], 3);
}

TEST(MaskOps, FillOfEveryWidth) {
  constexpr int64_t kCount = 203;
  const Tensor mask = empty(IntArray{kCount}, DType::kBool);
  for (int64_t i = 0; i < kCount; ++i) mask.data_ptr<bool>()[i] = i * 7 % 5 < 2;
  for (const DType dtype :
       {DType::kUInt8, DType::kFloat16, DType::kFloat32, DType::kInt64, DType::kComplex128}) {
    const Tensor x = empty(IntArray{kCount}, DType::kUInt8);
    for (int64_t i = 0; i < kCount; ++i) x.data_ptr<uint8_t>()[i] = static_cast<uint8_t>(i);
    const Numbers filled = elements_of(masked_fill(x.to(dtype), mask, 77).to(DType::kUInt8));
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(filled[static_cast<size_t>(i)], i * 7 % 5 < 2 ? 77 : i) << i;
    }
  }
}

TEST(MaskOps, FillSelectScatter) {
  const Tensor x = counting({2, 2});
  const Tensor mask = make({1, 0}, DType::kBool, {2});
  EXPECT_EQ(elements_of(masked_fill(x, mask, -1)), (Numbers{-1, 1, -1, 3}));
  EXPECT_EQ(elements_of(masked_select(x, mask)), (Numbers{0, 2}));
  EXPECT_EQ(elements_of(
                result_of("aten::masked_scatter", "", {x, mask, ints({8, 9}).to(DType::kFloat32)})),
            (Numbers{8, 1, 9, 3}));
  EXPECT_EQ(elements_of(nonzero(x)), (Numbers{0, 1, 1, 0, 1, 1}));
}

TEST(MaskOps, FillChecksTheRange) {
  const Tensor x = zeros(IntArray{2}, DType::kUInt8);
  EXPECT_THROW(result_of("aten::fill_", "Scalar", {x, 300}), Error);
  EXPECT_EQ(elements_of(result_of("aten::fill_", "Scalar", {x, -1})), (Numbers{255, 255}));
  const Tensor tall = zeros(IntArray{7, 3}, DType::kFloat32);
  result_of("aten::fill_diagonal_", "", {tall, 2, true});
  EXPECT_EQ(elements_of(result_of("aten::select", "int", {tall, 1, 0})),
            (Numbers{2, 0, 0, 0, 2, 0, 0}));
}

TEST(CreationOps, NestedLists) {
  const Value row = Value::list({1, 2}), other = Value::list({3, 4});
  const Tensor x = result_of("aten::tensor", "", {Value::list({row, other})});
  EXPECT_EQ(x.dtype(), DType::kInt64);
  EXPECT_EQ(sizes_of(x), (Sizes{2, 2}));
  EXPECT_EQ(elements_of(x), (Numbers{1, 2, 3, 4}));
  EXPECT_THROW(result_of("aten::tensor", "", {Value::list({row, Value::list({3})})}), Error);
  EXPECT_EQ(result_of("aten::tensor", "float", {2.5}).dtype(), DType::kFloat32);
}

TEST(CreationOps, LikeKeepsLayoutAndOutKeepsDtype) {
  const Tensor x = counting({2, 3});
  const Tensor y = result_of("aten::zeros_like", "", {transpose(x, 0, 1)});
  EXPECT_EQ(y.stride(0), 1);
  const Tensor target = empty(IntArray{1}, DType::kInt32);
  result_of("aten::full", "out", {int_list({2}), 3.7, target});
  EXPECT_EQ(elements_of(target), (Numbers{3, 3}));
}

TEST(ConvertOps, ToAndCopy) {
  const Tensor x = make({1.7, -1.7}, DType::kFloat32, {2});
  EXPECT_EQ(elements_of(result_of("aten::to", "dtype", {x, 4})), (Numbers{1, -1}));
  EXPECT_TRUE(result_of("aten::to", "dtype", {x, 6}).is_same(x));
  EXPECT_FALSE(result_of("aten::to", "dtype", {x, 6, false, true}).is_same(x));
  EXPECT_THROW(result_of("aten::cuda", "", {x}), Error);
  result_of("aten::copy_", "", {x, scalar_tensor(5, DType::kInt64)});
  EXPECT_EQ(elements_of(x), (Numbers{5, 5}));
}

TEST(ConvertOps, QuantizedTensorsKeepTheirQuantizer) {
  const Tensor q = empty_quantized(IntArray{2}, DType::kQUInt8, per_tensor_quantizer(0.5, 10));
  copy_into(q, make({1, -2}, DType::kFloat32, {2}));
  EXPECT_EQ(q.data_ptr<uint8_t>()[0], 12);
  EXPECT_EQ(q.data_ptr<uint8_t>()[1], 6);
  EXPECT_EQ(cat({q, q}, 0).q_scale(), 0.5);
  EXPECT_EQ(index_select(q, 0, ints({1})).q_zero_point(), 10);
  EXPECT_EQ(call_op("aten::item", "", {select(q, 0, 1)}).to_double(), -2);
}

TEST(ConvertOps, ElementsThatShareMemoryAreNotWritten) {
  const Tensor row = make({1, 2}, DType::kFloat32, {1, 2});
  const Tensor rows = expand(row, IntArray{3, 2});
  EXPECT_THROW(copy_into(rows, make({1, 2, 3, 4, 5, 6}, DType::kFloat32, {3, 2})), Error);
  EXPECT_THROW(call_op("aten::add_", "Scalar", {rows, 1, 1}), Error);
  EXPECT_EQ(elements_of(row), (Numbers{1, 2}));
  copy_into(expand(row, IntArray{1, 2}), make({5, 6}, DType::kFloat32, {2}));
  EXPECT_EQ(elements_of(row), (Numbers{5, 6}));
}

}  // namespace
}  // namespace torchlet::ops
