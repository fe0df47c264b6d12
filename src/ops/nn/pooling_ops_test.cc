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

// Rows of several runs and a rest, with the maximum at each place: the first of equals, the last
// NaN.
TEST(Pooling, MaxOfLongRows) {
  constexpr int64_t kColumns = 21, kElements = 2 * kColumns;
  for (int64_t at = 0; at < kElements; ++at) {
    for (const double peak : {3.0, kNan}) {
      std::vector<double> numbers(kElements, -1);
      const int64_t other = kElements / 2 + at / 2;
      numbers[static_cast<size_t>((at + 1) % kElements)] = 0;
      numbers[static_cast<size_t>(at)] = numbers[static_cast<size_t>(other)] = peak;
      const Tensor x = make(numbers, DType::kFloat32, {1, 1, 2, kColumns});
      const auto pooled = [&](size_t output) {
        return result_of("aten::adaptive_max_pool2d", "", {x, int_list({1, 1})}, output);
      };
      expect_tensor(pooled(0), {peak}, DType::kFloat32, {1, 1, 1, 1});
      const int64_t place = std::isnan(peak) ? std::max(at, other) : std::min(at, other);
      expect_tensor(pooled(1), {static_cast<double>(place)}, DType::kInt64, {1, 1, 1, 1});
    }
  }
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

// The same numbers whether channels are planes or lie inside, of every count beside a group of 32.
TEST(Pooling, ChannelsInside) {
  for (const int64_t channels : {8, 31, 32, 33, 70}) {
    const Tensor planes = ramp({2, channels, 5, 6}), lines = ramp({2, channels, 9});
    planes.data_ptr<float>()[17] = NAN;
    const Tensor inside = planes.contiguous(MemoryFormat::kChannelsLast);
    const Tensor turned = transpose(transpose(lines, 1, 2).contiguous(), 1, 2);
    const auto expect_alike = [](const char* op, const Tensor& a, const Tensor& b,
                                 std::vector<Value> rest, size_t results) {
      for (size_t r = 0; r < results; ++r) {
        std::vector<Value> args{a}, others{b};
        args.insert(args.end(), rest.begin(), rest.end());
        others.insert(others.end(), rest.begin(), rest.end());
        const Tensor expected = result_of(op, "", args, r), got = result_of(op, "", others, r);
        EXPECT_EQ(got.suggest_memory_format(), b.suggest_memory_format()) << op;
        EXPECT_EQ(got.stride(1), 1) << op;
        ASSERT_TRUE(std::ranges::equal(got.sizes(), expected.sizes())) << op;
        const Tensor x = expected.to(DType::kFloat64).contiguous();
        const Tensor y = got.to(DType::kFloat64).contiguous();
        for (int64_t i = 0; i < x.numel(); ++i) {
          const double want = x.data_ptr<double>()[i], has = y.data_ptr<double>()[i];
          ASSERT_TRUE(std::isnan(want) ? std::isnan(has)
                                       : want == has || std::abs(want - has) < 1e-5)
              << op << " " << i << ": " << want << " " << has;
        }
      }
    };
    const Value two = int_list({2, 2}), three = int_list({3, 3}), one = int_list({1, 1});
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
      expect_alike("aten::max_pool2d_with_indices", planes.to(dtype), inside.to(dtype),
                   {three, two, one, one, true}, 2);
      expect_alike("aten::max_pool2d_with_indices", planes.to(dtype), inside.to(dtype),
                   {two, one, one, int_list({6, 6}), false}, 2);  // windows without a pixel
      expect_alike("aten::adaptive_max_pool2d", planes.to(dtype), inside.to(dtype), {two}, 2);
      expect_alike("aten::max_pool1d_with_indices", lines.to(dtype), turned.to(dtype),
                   {int_list({3}), int_list({1}), int_list({1}), int_list({2}), false}, 2);
      expect_alike("aten::adaptive_max_pool1d", lines.to(dtype), turned.to(dtype), {int_list({4})},
                   2);
    }
    planes.data_ptr<float>()[17] = -3, inside.copy_(planes);
    for (const DType dtype : {DType::kFloat32, DType::kInt64}) {
      const Tensor a = planes.to(dtype), b = inside.to(dtype);
      const Tensor c = lines.to(dtype), d = turned.to(dtype);
      expect_alike("aten::avg_pool2d", a, b, {three, two, one, true, false, Value()}, 1);
      expect_alike("aten::avg_pool2d", a, b, {three, two, one, true, true, 5}, 1);
      expect_alike("aten::adaptive_avg_pool2d", a, b, {int_list({2, 4})}, 1);
      expect_alike("aten::avg_pool1d", c, d,
                   {int_list({3}), int_list({2}), int_list({1}), false, true}, 1);
      expect_alike("aten::adaptive_avg_pool1d", c, d, {int_list({4})}, 1);
    }
  }
}

}  // namespace
}  // namespace torchlet::ops
