#include "ops/engines/narrow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "ops/engines/integer_math.h"

namespace torchlet::ops {
namespace {

constexpr NarrowOp kAll[] = {NarrowOp::kAdd,
                             NarrowOp::kSub,
                             NarrowOp::kMul,
                             NarrowOp::kAnd,
                             NarrowOp::kOr,
                             NarrowOp::kXor,
                             NarrowOp::kMax,
                             NarrowOp::kMin,
                             NarrowOp::kFloorDivide,
                             NarrowOp::kEqual,
                             NarrowOp::kFloorRemainder,
                             NarrowOp::kUnequal,
                             NarrowOp::kLess,
                             NarrowOp::kLessEqual};

bool divides(NarrowOp op) {
  return op == NarrowOp::kFloorDivide || op == NarrowOp::kFloorRemainder;
}

// What it is in int64, before it is cut to the dtype.
int64_t expected(NarrowOp op, int64_t a, int64_t b) {
  switch (op) {
    case NarrowOp::kAdd:
      return a + b;
    case NarrowOp::kSub:
      return a - b;
    case NarrowOp::kMul:
      return a * b;
    case NarrowOp::kAnd:
      return a & b;
    case NarrowOp::kOr:
      return a | b;
    case NarrowOp::kXor:
      return a ^ b;
    case NarrowOp::kMax:
      return std::max(a, b);
    case NarrowOp::kMin:
      return std::min(a, b);
    case NarrowOp::kFloorDivide:
      return floor_divide(a, b);
    case NarrowOp::kFloorRemainder:
      return floor_remainder(a, b);
    case NarrowOp::kEqual:
      return a == b;
    case NarrowOp::kUnequal:
      return a != b;
    case NarrowOp::kLess:
      return a < b;
    default:
      return a <= b;
  }
}

// Every pair of these values.
template <typename T>
void compare(std::vector<T> values) {
  const DType dtype = DTypeOf<T>::value;
  const auto count = static_cast<int64_t>(values.size());
  for (const NarrowOp op : kAll) {
    SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " " << static_cast<int>(op));
    std::vector<T> divisors;
    for (const T value : values) divisors.push_back(divides(op) && value == 0 ? T(3) : value);
    const Tensor a = from_blob(values.data(), IntArray{count, 1}, dtype);
    const Tensor b = from_blob(divisors.data(), IntArray{1, count}, dtype);
    const Tensor result = narrow_map(op, a, b, dtype);
    ASSERT_EQ(result.dtype(), op >= NarrowOp::kEqual ? DType::kBool : dtype);
    const Tensor wide = result.to(DType::kInt64);
    const int64_t* got = wide.data_ptr<int64_t>();
    for (const T x : values) {
      for (const T y : divisors) {
        ASSERT_EQ(*got++, static_cast<int64_t>(static_cast<T>(expected(op, x, y))))
            << int64_t{x} << ", " << int64_t{y};
      }
    }
  }
}

TEST(Narrow, EveryPairOfBytes) {
  std::vector<uint8_t> bytes;
  std::vector<int8_t> signed_bytes;
  for (int i = 0; i < 256; ++i) {
    bytes.push_back(static_cast<uint8_t>(i));
    signed_bytes.push_back(static_cast<int8_t>(i - 128));
  }
  compare(bytes);
  compare(signed_bytes);
}

template <typename T>
void compare_limits() {
  std::vector<T> values;
  for (int bit = 0; bit < std::numeric_limits<T>::digits; ++bit) {
    for (int64_t i = -1; i <= 1; ++i) {
      const int64_t value = (int64_t{1} << bit) + i;
      values.push_back(static_cast<T>(value));
      values.push_back(static_cast<T>(-value));
    }
  }
  values.push_back(std::numeric_limits<T>::min());
  values.push_back(std::numeric_limits<T>::max());
  for (const int64_t value : {7, 10, 1000, 12345}) values.push_back(static_cast<T>(value));
  compare(values);
}

TEST(Narrow, NearPowersOfTwoAndLimits) {
  compare_limits<int16_t>();
  compare_limits<int32_t>();
}

TEST(Narrow, OperandsOfOtherTypesAndOfAnyCount) {
  for (int64_t count = 0; count < 70; ++count) {
    const Tensor a = empty(IntArray{count}, DType::kInt16);
    for (int64_t i = 0; i < count; ++i) a.data_ptr<int16_t>()[i] = static_cast<int16_t>(i - 30);
    const Tensor cut = scalar_tensor(300, DType::kInt64);  // 44 among bytes
    const Tensor sum = narrow_map(NarrowOp::kAdd, a, cut, DType::kInt8);
    ASSERT_EQ(sum.numel(), count);
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(sum.data_ptr<int8_t>()[i], static_cast<int8_t>(i - 30 + 44));
    }
    const Tensor mask = a.to(DType::kBool).clone(), odd = empty(IntArray{count}, DType::kBool);
    for (int64_t i = 0; i < count; ++i) odd.data_ptr<bool>()[i] = i % 2 == 1;
    EXPECT_TRUE(narrow_map(NarrowOp::kAnd, mask, odd, DType::kBool, &mask).is_same(mask));
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(mask.data_ptr<bool>()[i], i % 2 == 1 && i != 30);
  }
}

template <typename T>
void compare_abs_and_clamp() {
  using Limits = std::numeric_limits<T>;
  const DType dtype = DTypeOf<T>::value;
  std::vector<T> values{Limits::min(), static_cast<T>(Limits::min() + 1), Limits::max()};
  for (int i = -60; i < 60; ++i) values.push_back(static_cast<T>(i));
  const auto count = static_cast<int64_t>(values.size());
  const Tensor x = from_blob(values.data(), IntArray{count}, dtype);
  const Tensor low = scalar_tensor(3, dtype), high = scalar_tensor(50, dtype);
  const Tensor magnitudes = narrow_abs(x), inside = narrow_clamp(x, low, high, dtype);
  const Tensor crossed = narrow_clamp(x, high, low, dtype);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = values[static_cast<size_t>(i)];
    EXPECT_EQ(magnitudes.data_ptr<T>()[i], static_cast<T>(std::abs(value)));
    EXPECT_EQ(inside.data_ptr<T>()[i], static_cast<T>(std::clamp<int64_t>(value, 3, 50)));
    EXPECT_EQ(crossed.data_ptr<T>()[i], T(3));
  }
}

TEST(Narrow, AbsAndClamp) {
  compare_abs_and_clamp<uint8_t>();
  compare_abs_and_clamp<int8_t>();
  compare_abs_and_clamp<int16_t>();
  compare_abs_and_clamp<int32_t>();
}

TEST(Narrow, NoDivisorIsZero) {
  const Tensor a = scalar_tensor(5, DType::kInt32), zero = scalar_tensor(0, DType::kInt32);
  EXPECT_THROW(narrow_map(NarrowOp::kFloorDivide, a, zero, DType::kInt32), Error);
  EXPECT_THROW(narrow_map(NarrowOp::kFloorRemainder, a, zero, DType::kInt32), Error);
  // 256 is 0 among bytes.
  EXPECT_THROW(
      narrow_map(NarrowOp::kFloorDivide, a, scalar_tensor(256, DType::kInt64), DType::kUInt8),
      Error);
  const Tensor none = empty(IntArray{0}, DType::kInt32);
  EXPECT_EQ(narrow_map(NarrowOp::kFloorDivide, none, none, DType::kInt32).numel(), 0);
}

}  // namespace
}  // namespace torchlet::ops
