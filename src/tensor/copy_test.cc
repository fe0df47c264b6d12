#include <gtest/gtest.h>
#include <torchlet/tensor.h>

#include <complex>
#include <limits>
#include <numeric>

#include "tensor/scalar.h"
#include "tensor/tensor_impl.h"

namespace torchlet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// `values` converted to `to` by way of a tensor of `from`, read back as doubles.
std::vector<double> converted(const std::vector<double>& values, DType from, DType to) {
  const int64_t count = static_cast<int64_t>(values.size());
  const std::vector<int64_t> sizes = {count};
  Tensor source = empty(sizes, from);
  convert_elements(values.data(), DType::kFloat64, 1, source.raw_data(), from, 1, count);
  Tensor target = empty(sizes, to);
  target.copy_(source);
  std::vector<double> result(values.size());
  convert_elements(target.raw_data(), to, 1, result.data(), DType::kFloat64, 1, count);
  return result;
}

Tensor counting(std::vector<int64_t> sizes) {
  Tensor tensor = empty(sizes, DType::kFloat32);
  std::iota(tensor.data_ptr<float>(), tensor.data_ptr<float>() + tensor.numel(), 0.0f);
  return tensor;
}

std::vector<float> flat(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  return {dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel()};
}

std::string error_of(const Tensor& target, const Tensor& source) {
  try {
    target.copy_(source);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

using Doubles = std::vector<double>;

// Expectations are what torch.tensor(...).to(...) gives on x86.
TEST(Convert, FloatsTruncateTowardsZero) {
  for (const DType from : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    for (const DType to : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
      EXPECT_EQ(converted({2.75, -2.75, 0, 100, -100}, from, to), (Doubles{2, -2, 0, 100, -100}));
    }
  }
}

TEST(Convert, FloatsOutOfRange) {
  const Doubles values = {3e9, -3e9, 300, -1, -129, kNan, kInf, -kInf, 1e20};
  for (const DType from : {DType::kFloat32, DType::kFloat64}) {
    EXPECT_EQ(converted(values, from, DType::kUInt8), (Doubles{0, 0, 44, 255, 127, 0, 0, 0, 0}));
    EXPECT_EQ(converted(values, from, DType::kInt8), (Doubles{0, 0, 44, -1, 127, 0, 0, 0, 0}));
    EXPECT_EQ(converted(values, from, DType::kInt16), (Doubles{0, 0, 300, -1, -129, 0, 0, 0, 0}));
    const double min32 = std::numeric_limits<int32_t>::min();
    EXPECT_EQ(converted(values, from, DType::kInt32),
              (Doubles{min32, min32, 300, -1, -129, min32, min32, min32, min32}));
    const double min64 = static_cast<double>(std::numeric_limits<int64_t>::min());
    EXPECT_EQ(converted(values, from, DType::kInt64),
              (Doubles{3e9, -3e9, 300, -1, -129, min64, min64, min64, min64}));
  }
}

TEST(Convert, ToBoolIsNotZero) {
  for (const DType from : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kInt64}) {
    EXPECT_EQ(converted({0, 1, -1, 100}, from, DType::kBool), (Doubles{0, 1, 1, 1}));
  }
  EXPECT_EQ(converted({0.25, -0.0, kNan}, DType::kFloat32, DType::kBool), (Doubles{1, 0, 1}));
  EXPECT_EQ(converted({0, 2}, DType::kBool, DType::kFloat32), (Doubles{0, 1}));
}

TEST(Convert, IntegersWrap) {
  EXPECT_EQ(converted({300, -1, 70000}, DType::kInt64, DType::kUInt8), (Doubles{44, 255, 112}));
  EXPECT_EQ(converted({300, -1, 70000}, DType::kInt32, DType::kInt16), (Doubles{300, -1, 4464}));
}

TEST(Convert, LargeIntegersAreExactOrRoundOnce) {
  const int64_t values[] = {(int64_t{1} << 53) + 1, -(int64_t{1} << 62) - 1};
  Tensor source = empty(std::vector<int64_t>{2}, DType::kInt64);
  std::copy(values, values + 2, source.data_ptr<int64_t>());
  EXPECT_EQ(source.to(DType::kFloat64).data_ptr<double>()[0], 9007199254740992.0);
  EXPECT_EQ(source.to(DType::kFloat32).data_ptr<float>()[1], -0x1p62f);
  EXPECT_EQ(source.to(DType::kUInt8).data_ptr<uint8_t>()[0], 1);
  EXPECT_EQ(converted({2049, 70000}, DType::kInt64, DType::kFloat16), (Doubles{2048, kInf}));
  EXPECT_EQ(converted({257, 259}, DType::kInt64, DType::kBFloat16), (Doubles{256, 260}));
}

TEST(Convert, Complex) {
  Tensor source = empty(std::vector<int64_t>{3}, DType::kComplex64);
  auto* z = source.data_ptr<std::complex<float>>();
  z[0] = {3, 4}, z[1] = {0, 1}, z[2] = {-2.5f, 0};
  EXPECT_EQ(flat(source.to(DType::kFloat32)), (std::vector<float>{3, 0, -2.5f}));
  const Tensor booleans = source.to(DType::kBool);
  EXPECT_TRUE(booleans.data_ptr<bool>()[0]);
  EXPECT_FALSE(booleans.data_ptr<bool>()[1]);  // only the real part counts
  const Tensor wide = source.to(DType::kComplex128).to(DType::kComplex32).to(DType::kComplex64);
  EXPECT_EQ(wide.data_ptr<std::complex<float>>()[0], std::complex<float>(3, 4));
  EXPECT_EQ(source.to(DType::kInt64).to(DType::kComplex64).data_ptr<std::complex<float>>()[0],
            std::complex<float>(3, 0));
}

TEST(Convert, RunsLongerThanABlockAndWithStrides) {
  std::vector<double> source(3000);
  std::iota(source.begin(), source.end(), 0.0);
  std::vector<int32_t> target(2000, -1);
  convert_elements(source.data(), DType::kFloat64, 3, target.data(), DType::kInt32, 2, 1000);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(target[static_cast<size_t>(2 * i)], 3 * i);
    ASSERT_EQ(target[static_cast<size_t>(2 * i + 1)], -1);
  }
}

TEST(Copy, BetweenStrides) {
  const Tensor source = counting({2, 3});
  Tensor transposed =
      empty_strided(std::vector<int64_t>{2, 3}, std::vector<int64_t>{1, 2}, DType::kFloat32);
  transposed.copy_(source);
  const float* memory = transposed.data_ptr<float>();
  EXPECT_EQ(std::vector<float>(memory, memory + 6), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(flat(transposed), flat(source));
}

TEST(Copy, IntoPartOfATensorLeavesTheRest) {
  const Tensor whole = zeros(std::vector<int64_t>{4, 5}, DType::kFloat32);
  const Tensor window = make_view(whole, std::vector<int64_t>{2, 3}, std::vector<int64_t>{5, 1}, 6);
  window.copy_(counting({2, 3}));
  EXPECT_EQ(flat(whole), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 1, 2, 0,  //
                                             0, 3, 4, 5, 0, 0, 0, 0, 0, 0}));
}

TEST(Copy, Broadcasts) {
  const Tensor target = zeros(std::vector<int64_t>{2, 2, 3}, DType::kFloat32);
  target.copy_(counting({3}));
  EXPECT_EQ(flat(target), (std::vector<float>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
  target.copy_(counting({2, 1}));
  EXPECT_EQ(flat(target), (std::vector<float>{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  target.copy_(scalar_tensor(7, DType::kInt64));
  EXPECT_EQ(flat(target), std::vector<float>(12, 7));
}

// One element into many, in pieces and into rows.
TEST(Copy, RepeatsAnElement) {
  for (const int64_t count : {int64_t{3}, int64_t{512}, int64_t{1300}}) {
    const Tensor target = zeros(IntArray{2, count}, DType::kFloat32);
    const Tensor part = make_view(target, IntArray{2, count - 1}, IntArray{count, 1}, 0);
    part.copy_(counting({2, 1}));
    for (int64_t i = 0; i < 2 * count; ++i) {
      const bool is_second = i >= count && i % count < count - 1;
      ASSERT_EQ(target.data_ptr<float>()[i], is_second ? 1.0f : 0.0f) << count << ", " << i;
    }
  }
}

TEST(Copy, ShapesThatDoNotFit) {
  EXPECT_EQ(error_of(counting({2, 3}), counting({3, 3})),
            "The size of tensor a (2) must match the size of tensor b (3) at non-singleton "
            "dimension 0");
  EXPECT_EQ(error_of(counting({2}), counting({3, 2})),
            "output with shape [2] doesn't match the broadcast shape [3, 2]");
  EXPECT_EQ(error_of(counting({1}), counting({3})),
            "output with shape [1] doesn't match the broadcast shape [3]");
}

TEST(Copy, OverlappingViewsOfOneStorage) {
  const Tensor line = counting({6});
  const Tensor head = make_view(line, std::vector<int64_t>{5}, std::vector<int64_t>{1}, 0);
  const Tensor tail = make_view(line, std::vector<int64_t>{5}, std::vector<int64_t>{1}, 1);
  tail.copy_(head);
  EXPECT_EQ(flat(line), (std::vector<float>{0, 0, 1, 2, 3, 4}));
  const Tensor square = counting({2, 2});
  square.copy_(make_view(square, std::vector<int64_t>{2, 2}, std::vector<int64_t>{1, 2}, 0));
  EXPECT_EQ(flat(square), (std::vector<float>{0, 2, 1, 3}));
}

TEST(Copy, EmptyTensors) {
  const Tensor none = empty(std::vector<int64_t>{0, 3}, DType::kFloat32);
  none.copy_(counting({3}));
  none.copy_(empty(std::vector<int64_t>{0, 3}, DType::kInt64));
  EXPECT_EQ(none.clone().numel(), 0);
}

TEST(Copy, MemoryFormats) {
  // Odd sizes, so that no two strides agree by accident.
  const Tensor nchw = counting({2, 3, 5, 7});
  const Tensor nhwc = nchw.contiguous(MemoryFormat::kChannelsLast);
  EXPECT_TRUE(nhwc.is_contiguous(MemoryFormat::kChannelsLast));
  const float* memory = nhwc.data_ptr<float>();
  for (int64_t n = 0, at = 0; n < 2; ++n) {
    for (int64_t y = 0; y < 5; ++y) {
      for (int64_t x = 0; x < 7; ++x) {
        for (int64_t c = 0; c < 3; ++c) {
          ASSERT_EQ(memory[at++], static_cast<float>(((n * 3 + c) * 5 + y) * 7 + x));
        }
      }
    }
  }
  EXPECT_EQ(flat(nhwc), flat(nchw));
}

TEST(Fill, ChecksTheRangeAsTorchFullDoes) {
  const auto filled = [](DType dtype, const Scalar& scalar) {
    const Tensor tensor = empty(std::vector<int64_t>{2}, dtype);
    fill(tensor, scalar);
    return tensor.to(DType::kFloat64).data_ptr<double>()[1];
  };
  const auto fill_error = [&](DType dtype, const Scalar& scalar) -> std::string {
    try {
      filled(dtype, scalar);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(filled(DType::kUInt8, -1), 255);  // wraps
  EXPECT_EQ(filled(DType::kUInt8, 2.7), 2);
  EXPECT_EQ(filled(DType::kInt8, std::complex<double>(1, 0)), 1);
  EXPECT_EQ(filled(DType::kBool, 0.5), 1);
  EXPECT_EQ(filled(DType::kFloat16, kInf), kInf);
  EXPECT_EQ(filled(DType::kFloat16, 65504), 65504);
  const std::pair<DType, Scalar> overflowing[] = {
      {DType::kUInt8, 256},
      {DType::kUInt8, -300},
      {DType::kUInt8, 300.5},
      {DType::kInt8, 200},
      {DType::kInt32, int64_t{1} << 40},
      {DType::kInt64, 1e30},
      {DType::kInt64, kNan},
      {DType::kFloat16, 1e6},
      {DType::kFloat32, 1e300},
      {DType::kFloat32, std::complex<double>(1, 1)},
  };
  for (const auto& [dtype, scalar] : overflowing) {
    EXPECT_NE(fill_error(dtype, scalar).find("without overflow"), std::string::npos)
        << dtype_name(dtype);
  }
  EXPECT_EQ(fill_error(DType::kUInt8, 300),
            "value cannot be converted to type uint8_t without overflow");
}

}  // namespace
}  // namespace torchlet
