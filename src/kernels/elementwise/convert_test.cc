#include "kernels/elementwise/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kCount = 32 + 512 + 5;  // whole steps, whole blocks and a rest

template <typename From, typename To>
void expect(NumberType from_type, const std::vector<From>& from, NumberType to_type,
            const std::vector<To>& to) {
  for_each_target([&] {
    for (const int64_t count : {int64_t{1}, int64_t{31}, int64_t{32}, kCount}) {
      std::vector<From> x;
      std::vector<To> expected, y(static_cast<size_t>(count) + 1);
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        x.push_back(from[i % from.size()]);
        expected.push_back(to[i % to.size()]);
      }
      std::memset(y.data(), 7, y.size() * sizeof(To));
      expected.push_back(y.back());
      if (!convert(from_type, x.data(), to_type, y.data(), count)) {
        EXPECT_TRUE(from_type == NumberType::kF16 || to_type == NumberType::kF16);
        EXPECT_NE(hwy::SupportedTargets(), HWY_AVX2);
        continue;
      }
      EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(To)), 0)
          << static_cast<int>(from_type) << " to " << static_cast<int>(to_type) << ", " << count;
    }
  });
}

TEST(Convert, FloatsTruncate) {
  const std::vector<float> x = {2.75f, -2.75f, 0, -0.0f, 100, -128};
  expect<float, int8_t>(NumberType::kF32, x, NumberType::kI8, {2, -2, 0, 0, 100, -128});
  expect<float, int16_t>(NumberType::kF32, x, NumberType::kI16, {2, -2, 0, 0, 100, -128});
  expect<float, int32_t>(NumberType::kF32, x, NumberType::kI32, {2, -2, 0, 0, 100, -128});
  expect<float, int64_t>(NumberType::kF32, x, NumberType::kI64, {2, -2, 0, 0, 100, -128});
  expect<float, uint8_t>(NumberType::kF32, x, NumberType::kU8, {2, 254, 0, 0, 100, 128});
  expect<float, uint8_t>(NumberType::kF32, x, NumberType::kBool, {1, 1, 0, 0, 1, 1});
  expect<float, double>(NumberType::kF32, x, NumberType::kF64, {2.75, -2.75, 0, -0.0, 100, -128});
}

TEST(Convert, FloatsBeyondIntegersBecomeTheLowest) {
  const std::vector<float> x = {kInf, -kInf, kNan, 0x1p31f, -0x1p31f, 300, 0x1p63f};
  constexpr int32_t kLow = std::numeric_limits<int32_t>::min();
  constexpr int64_t kLow64 = std::numeric_limits<int64_t>::min();
  expect<float, int32_t>(NumberType::kF32, x, NumberType::kI32,
                         {kLow, kLow, kLow, kLow, kLow, 300, kLow});
  expect<float, int8_t>(NumberType::kF32, x, NumberType::kI8, {0, 0, 0, 0, 0, 44, 0});
  expect<float, int64_t>(
      NumberType::kF32, x, NumberType::kI64,
      {kLow64, kLow64, kLow64, int64_t{1} << 31, -(int64_t{1} << 31), 300, kLow64});
}

TEST(Convert, HalvesRoundToNearestEven) {
  expect<float, uint16_t>(NumberType::kF32, {1, 1 + 0x1p-11f, 1 + 0x3p-11f, 65520, -0.0f, 0x1p-24f},
                          NumberType::kF16, {0x3c00, 0x3c00, 0x3c02, 0x7c00, 0x8000, 1});
  expect<float, uint16_t>(NumberType::kF32, {1, 1 + 0x1p-8f, 1 + 0x3p-8f, kInf, kNan},
                          NumberType::kBF16, {0x3f80, 0x3f80, 0x3f82, 0x7f80, 0x7fc0});
  expect<uint16_t, float>(NumberType::kF16, {0x3c00, 0x8000, 1, 0x7c00, 0xc500}, NumberType::kF32,
                          {1, -0.0f, 0x1p-24f, kInf, -5});
  expect<uint16_t, float>(NumberType::kBF16, {0x3f80, 0xc0a0}, NumberType::kF32, {1, -5});
  expect<uint16_t, int8_t>(NumberType::kF16, {0x3c00, 0xc500, 0x7c00}, NumberType::kI8, {1, -5, 0});
  expect<int64_t, uint16_t>(NumberType::kI64, {1, -5, 70000}, NumberType::kF16,
                            {0x3c00, 0xc500, 0x7c00});
}

TEST(Convert, WideIntegersRoundOnce) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(),
                    kMax = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> ends = {kMin, kMax, -1, 0, (int64_t{1} << 53) + 1, -5000000000};
  expect<int64_t, double>(NumberType::kI64, ends, NumberType::kF64,
                          {-0x1p63, 0x1p63, -1, 0, 0x1p53, -5000000000});
  expect<int64_t, float>(NumberType::kI64, ends, NumberType::kF32,
                         {-0x1p63f, 0x1p63f, -1, 0, 0x1p53f, -5000000000});
  // Just above the middle of two floats, which the nearest double is.
  const std::vector<int64_t> middle = {(int64_t{1} << 61) + (int64_t{1} << 37) + 1, 3};
  expect<int64_t, float>(NumberType::kI64, middle, NumberType::kF32, {0x1.000002p61f, 3});
  const std::vector<int64_t> exact = {(int64_t{1} << 53) - 1, 1 - (int64_t{1} << 53), 16777217, -7};
  expect<int64_t, float>(NumberType::kI64, exact, NumberType::kF32,
                         {0x1p53f, -0x1p53f, 16777216, -7});
}

TEST(Convert, IntegersKeepTheirLowBits) {
  const std::vector<int64_t> x = {1, -2, 300, int64_t{1} << 40, (int64_t{5} << 32) + 7};
  expect<int64_t, uint8_t>(NumberType::kI64, x, NumberType::kU8, {1, 254, 44, 0, 7});
  expect<int64_t, int8_t>(NumberType::kI64, x, NumberType::kI8, {1, -2, 44, 0, 7});
  expect<int64_t, int32_t>(NumberType::kI64, x, NumberType::kI32, {1, -2, 300, 0, 7});
  expect<int64_t, uint8_t>(NumberType::kI64, x, NumberType::kBool, {1, 1, 1, 1, 1});
  expect<int64_t, uint8_t>(NumberType::kI64, {0, 1, INT64_MIN, 0}, NumberType::kBool, {0, 1, 1, 0});
  expect<int64_t, float>(NumberType::kI64, {3, 16777217, -1}, NumberType::kF32, {3, 16777216, -1});
  expect<uint8_t, int64_t>(NumberType::kU8, {0, 1, 255}, NumberType::kI64, {0, 1, 255});
  expect<int8_t, int64_t>(NumberType::kI8, {0, 1, -1}, NumberType::kI64, {0, 1, -1});
  expect<int16_t, int64_t>(NumberType::kI16, {0, -300}, NumberType::kI64, {0, -300});
  expect<int32_t, int64_t>(NumberType::kI32, {0, -70000}, NumberType::kI64, {0, -70000});
  expect<uint8_t, uint8_t>(NumberType::kBool, {0, 1}, NumberType::kU8, {0, 1});
  expect<uint8_t, int16_t>(NumberType::kBool, {0, 1}, NumberType::kI16, {0, 1});
  expect<uint8_t, int16_t>(NumberType::kU8, {0, 255}, NumberType::kI16, {0, 255});
  expect<int8_t, int16_t>(NumberType::kI8, {0, -1}, NumberType::kI16, {0, -1});
  expect<uint8_t, int8_t>(NumberType::kU8, {0, 255}, NumberType::kI8, {0, -1});
  expect<int8_t, uint8_t>(NumberType::kI8, {0, -1}, NumberType::kBool, {0, 1});
  expect<uint8_t, float>(NumberType::kBool, {0, 1}, NumberType::kF32, {0, 1});
  expect<double, float>(NumberType::kF64, {0.5, 1e300}, NumberType::kF32, {0.5f, kInf});
}

// What float would change.
TEST(Convert, RefusesWhatItCannotDo) {
  const int64_t x = 1;
  double y = 0;
  EXPECT_FALSE(convert(NumberType::kI32, &x, NumberType::kF64, &y, 1));
  EXPECT_FALSE(convert(NumberType::kF64, &x, NumberType::kI32, &y, 1));
  EXPECT_FALSE(convert(NumberType::kF64, &x, NumberType::kBool, &y, 1));
  EXPECT_FALSE(convert(NumberType::kI32, &x, NumberType::kI32, &y, 1));
}

TEST(LookUpBools, EveryFunctionOnEveryTail) {
  for_each_target([] {
    for (int function = 0; function < 256; ++function) {
      uint8_t answers[8];
      for (int k = 0; k < 8; ++k) answers[k] = function >> k & 1;
      for (size_t n = 0; n < 70; n += function == 6 ? 1 : 23) {
        std::vector<uint8_t> x(n + 1, 7), y(n + 1, 7), z(n + 1, 7);
        for (size_t i = 0; i < n; ++i) x[i] = i % 3 == 0, y[i] = i % 5 < 2, z[i] = i % 7 > 2;
        std::vector<uint8_t> expected(x);
        for (size_t i = 0; i < n; ++i) expected[i] = answers[x[i] + 2 * y[i] + 4 * z[i]];
        look_up_bools(answers, x.data(), y.data(), z.data(), x.data(), static_cast<int64_t>(n));
        EXPECT_EQ(x, expected);
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
