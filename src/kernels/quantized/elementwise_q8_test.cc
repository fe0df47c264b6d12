#define HWY_WANT_AVX3_DL  // as elementwise_q8.cc
#include "kernels/quantized/elementwise_q8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes random_bytes(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  Bytes bytes(static_cast<size_t>(count));
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(engine());
  return bytes;
}

uint8_t quantized(float x, const AffineQ8& q, int low = 0, int high = 255) {
  const double integer =
      static_cast<double>(std::nearbyint(x * (1.0f / q.scale))) + static_cast<double>(q.zero_point);
  if (!(integer < 0x1p63)) return 0;
  return static_cast<uint8_t>(
      std::clamp(integer, static_cast<double>(low), static_cast<double>(high)));
}

float real_of(uint8_t q, const AffineQ8& affine) {
  return (static_cast<float>(q) - affine.zero_point) * affine.scale;
}

constexpr int64_t kCounts[] = {1, 3, 15, 16, 17, 24, 40, 64, 65, 96, 130, 256};

TEST(ElementwiseQ8, QuantizesEveryTailAndSpecialValue) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for_each_target([] {
    for (int64_t count : kCounts) {
      for (const AffineQ8 q : {AffineQ8{0.5f, 3}, {0.013f, 128}, {1e-30f, 255}, {7e20f, 0}}) {
        std::vector<float> x(static_cast<size_t>(count * 2));
        std::mt19937 engine(3);
        std::uniform_real_distribution<float> distribution(-200 * q.scale, 300 * q.scale);
        for (float& v : x) v = distribution(engine);
        const float special[] = {std::nanf(""), kInfinity,   -kInfinity,     1e30f,
                                 -1e30f,        q.scale / 2, q.scale * 1.5f, -q.scale / 2};
        for (size_t i = 0; i < std::size(special) && i * 3 < x.size(); ++i) x[i * 3] = special[i];
        Bytes y(static_cast<size_t>(2 * (count + 2)), 77), expected = y;
        for (int64_t i = 0; i < 2 * count; ++i) {
          expected[static_cast<size_t>(i / count * (count + 2) + i % count)] =
              quantized(x[static_cast<size_t>(i)], q);
        }
        quantize_rows_q8(2, count, x.data(), count, q, y.data(), count + 2);
        ASSERT_EQ(y, expected) << count;
      }
    }
  });
}

TEST(ElementwiseQ8, DequantizesEveryByte) {
  for_each_target([] {
    for (int64_t count : kCounts) {
      const AffineQ8 q{0.37f, 77};
      Bytes x(static_cast<size_t>(count));
      std::iota(x.begin(), x.end(), uint8_t{0});
      std::vector<float> y(static_cast<size_t>(count + 1), 5.0f), expected = y;
      for (size_t i = 0; i < x.size(); ++i) expected[i] = real_of(x[i], q);
      dequantize_rows_q8(1, count, x.data(), count, q, y.data(), count);
      ASSERT_EQ(y, expected);
    }
  });
}

TEST(ElementwiseQ8, MapsThroughATable) {
  const Bytes table = random_bytes(256, 1);
  for_each_target([&] {
    for (int64_t count : kCounts) {
      const Bytes x = random_bytes(3 * (count + 1), 2);
      Bytes y(static_cast<size_t>(3 * (count + 2)), 77), expected = y;
      for (int64_t i = 0; i < 3 * count; ++i) {
        expected[static_cast<size_t>(i / count * (count + 2) + i % count)] =
            table[x[static_cast<size_t>(i / count * (count + 1) + i % count)]];
      }
      map_rows_q8(3, count, x.data(), count + 1, table.data(), y.data(), count + 2);
      ASSERT_EQ(y, expected);
    }
  });
}

// In 64 bits, as the operator's definition says.
uint8_t added(uint8_t a, uint8_t b, const AddQ8& add, const AffineQ8& qa, const AffineQ8& qb,
              const OutputQ8& result) {
  const int64_t sum = int64_t{add.a_multiplier} * (a - qa.zero_point) +
                      int64_t{add.b_multiplier} * (b - qb.zero_point);
  const int64_t half = int64_t{1} << (add.shift - 1);
  const int64_t rounded = sum >= 0 ? (sum + half) >> add.shift : -((-sum + half) >> add.shift);
  return static_cast<uint8_t>(
      std::clamp<int64_t>(rounded + result.zero_point, result.low, result.high));
}

void check_add(const AffineQ8& qa, const AffineQ8& qb, float scale, const OutputQ8& result) {
  SCOPED_TRACE(testing::Message() << qa.scale << " + " << qb.scale << " -> " << scale);
  const std::optional<AddQ8> add = make_add_q8(qa, qb, scale);
  ASSERT_TRUE(add);
  Bytes a, b, expected;
  for (int i = 0; i < 256; ++i) {
    for (int j = 0; j < 256; ++j) {
      a.push_back(static_cast<uint8_t>(i));
      b.push_back(static_cast<uint8_t>(j));
      expected.push_back(added(a.back(), b.back(), *add, qa, qb, result));
    }
  }
  Bytes y(a.size());
  const int64_t count = std::ssize(a);
  add_rows_q8(*add, 1, count, a.data(), count, b.data(), count, result, y.data(), count);
  ASSERT_EQ(y, expected);
}

TEST(ElementwiseQ8, AddsEveryPairOfBytes) {
  for_each_target([] {
    check_add({0.5f, 128}, {0.25f, 3}, 0.5f, {100});
    check_add({0.1f, 0}, {0.03f, 255}, 0.07f, {0});
    check_add({0.1f, 255}, {0.1f, 255}, 0.1f, {255, 255, 255});
    check_add({1.0f, 0}, {1.0f, 0}, 1000.0f, {0, 10, 200});   // the longest shift
    check_add({1.0f, 0}, {1e-6f, 0}, 0.003f, {60});           // the shortest
    check_add({0.999999f, 0}, {0.999999f, 255}, 1.0f, {60});  // the largest multipliers
    check_add({0.0213f, 117}, {0.0177f, 131}, 0.0241f, {120});  // no halves, as nearly always
    EXPECT_FALSE(make_add_q8({0.0213f, 117}, {0.0177f, 131}, 0.0241f)->has_negative_halves);
  });
  EXPECT_FALSE(make_add_q8({1, 0}, {1, 0}, 2000));
  EXPECT_FALSE(make_add_q8({1, 0}, {1, 0}, 0.001f));
}

TEST(ElementwiseQ8, KnowsWhetherNegativeSumsAreHalves) {
  // 0.5 * (a - 1), of which a = 0 is a negative half, and 0.5 * a.
  EXPECT_TRUE(make_add_q8({0.5f, 1}, {1.0f, 0}, 1.0f)->has_negative_halves);
  EXPECT_TRUE(make_add_q8({1.0f, 0}, {0.5f, 1}, 1.0f)->has_negative_halves);
  EXPECT_FALSE(make_add_q8({0.5f, 0}, {1.0f, 0}, 1.0f)->has_negative_halves);
  // As every pair tells.
  for (int i = 0; i < 40; ++i) {
    const Bytes random = random_bytes(6, static_cast<unsigned>(i));
    // Of few bits, so that some are.
    const AffineQ8 qa{static_cast<float>(random[0] | 1) / 256, random[1]};
    const AffineQ8 qb{static_cast<float>(random[2] | 1) / 64, random[3]};
    const float scale = i % 2 ? 1.0f : 0.37f;
    const AddQ8 add = *make_add_q8(qa, qb, scale);
    bool expected = false;
    for (int64_t a = 0; a < 256; ++a) {
      for (int64_t b = 0; b < 256; ++b) {
        const int64_t sum = (a - qa.zero_point) * add.a_multiplier + (b - qb.zero_point) * add.b_multiplier;
        const int64_t half = int64_t{1} << (add.shift - 1);
        expected |= sum < 0 && -sum % (2 * half) == half;
      }
    }
    EXPECT_EQ(add.has_negative_halves, expected) << i;
  }
}

TEST(ElementwiseQ8, AddsRowsWithGaps) {
  const AffineQ8 qa{0.5f, 9}, qb{0.3f, 70};
  const AddQ8 add = *make_add_q8(qa, qb, 0.4f);
  const OutputQ8 result{44, 44, 250};
  for_each_target([&] {
    for (int64_t count : kCounts) {
      const Bytes a = random_bytes(3 * (count + 1), 2), b = random_bytes(3 * (count + 3), 3);
      Bytes y(static_cast<size_t>(3 * (count + 2)), 77), expected = y;
      for (int64_t i = 0; i < 3 * count; ++i) {
        expected[static_cast<size_t>(i / count * (count + 2) + i % count)] =
            added(a[static_cast<size_t>(i / count * (count + 1) + i % count)],
                  b[static_cast<size_t>(i / count * (count + 3) + i % count)], add, qa, qb, result);
      }
      add_rows_q8(add, 3, count, a.data(), count + 1, b.data(), count + 3, result, y.data(),
                  count + 2);
      ASSERT_EQ(y, expected);
    }
  });
}

TEST(ElementwiseQ8, ComputesOnRealNumbers) {
  const AffineQ8 qa{0.05f, 130}, qb{1.0f / 256, 0};
  const OutputQ8 result{99, 20, 240};
  for_each_target([&] {
    for (const BinaryOpQ8 op : {BinaryOpQ8::kAdd, BinaryOpQ8::kMul}) {
      for (const float scale : {0.031f, 1e-25f}) {
        for (int64_t count : kCounts) {
          for (int64_t rows_per_b : {1, 3}) {
            const Bytes a = random_bytes(6 * (count + 1), 2), b = random_bytes(6 * count, 3);
            Bytes y(static_cast<size_t>(6 * (count + 2)), 77), expected = y;
            for (int64_t i = 0; i < 6 * count; ++i) {
              const int64_t r = i / count, c = i % count;
              const float x = real_of(a[static_cast<size_t>(r * (count + 1) + c)], qa);
              const float z = real_of(b[static_cast<size_t>(r / rows_per_b * count + c)], qb);
              expected[static_cast<size_t>(r * (count + 2) + c)] = std::clamp(
                  quantized(op == BinaryOpQ8::kAdd ? x + z : x * z, {scale, result.zero_point}),
                  result.low, result.high);
            }
            binary_rows_q8({op, qa, qb, scale}, 6, count, a.data(), count + 1, b.data(), count,
                           rows_per_b, result, y.data(), count + 2);
            ASSERT_EQ(y, expected);
          }
        }
      }
    }
  });
}

TEST(ElementwiseQ8, Threads) {
  set_num_threads(4);
  const Bytes x = random_bytes(100000, 2), table = random_bytes(256, 1);
  Bytes y(x.size()), expected(x.size());
  for (size_t i = 0; i < x.size(); ++i) expected[i] = table[x[i]];
  map_rows_q8(100, 1000, x.data(), 1000, table.data(), y.data(), 1000);
  EXPECT_EQ(y, expected);
  set_num_threads(0);
}

}  // namespace
}  // namespace torchlet::kernels
