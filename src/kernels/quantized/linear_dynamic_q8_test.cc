#define HWY_WANT_AVX3_DL  // as linear_dynamic_q8.cc
#include "kernels/quantized/linear_dynamic_q8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/quantized/layer_q8_test.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_rows(int64_t count) {
  std::mt19937 engine(11);
  std::uniform_real_distribution<float> uniform(-2, 3);
  std::vector<float> x(static_cast<size_t>(count));
  for (float& value : x) value = uniform(engine);
  return x;
}

void check(int64_t rows, int64_t in, int64_t out, bool has_zeros, int64_t gap, float low,
           float high) {
  SCOPED_TRACE(testing::Message() << rows << " x " << in << " -> " << out << ", gap " << gap);
  const AffineQ8 affine{5.0f / 255, 102};
  const RandomLayerQ8 random(make_shape(in, out, 1, 1, 1, 0), has_zeros, affine.zero_point, 5);
  const std::vector<float> x = random_rows(rows * (in + gap) - gap);
  std::vector<float> y(static_cast<size_t>(rows * (out + gap)), 7.0f), want = y;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < out; ++c) {
      int64_t sum = 0;
      for (int64_t i = 0; i < in; ++i) {
        const float q =
            std::nearbyint(x[static_cast<size_t>(r * (in + gap) + i)] * (1.0f / affine.scale)) +
            affine.zero_point;
        const int64_t centred =
            static_cast<int64_t>(std::clamp(q, 0.0f, 255.0f)) - affine.zero_point;
        sum += centred * (random.weight[static_cast<size_t>(c * in + i)] -
                          weight_zero_point(random.layer, c));
      }
      const size_t at = static_cast<size_t>(c);
      const float real =
          static_cast<float>(sum) * (random.scales[at] * affine.scale) + random.bias[at];
      want[static_cast<size_t>(r * (out + gap) + c)] = std::clamp(real, low, high);
    }
  }
  AlignedBytes packed(linear_dynamic_q8_packed_bytes(in, out));
  linear_dynamic_q8_pack(in, out, random.layer, packed.data());
  std::vector<uint8_t> work(static_cast<size_t>(linear_dynamic_q8_work_bytes(rows, in)), 0xee);
  linear_dynamic_q8({rows, in, out, x.data(), in + gap, affine, packed.data(), low, high, y.data(),
                     out + gap, work.data()});
  ASSERT_EQ(y, want);
}

TEST(LinearDynamicQ8, EveryTail) {
  for_each_target([] {
    with_and_without_amx([] {
      for (const int64_t in : {1, 2, 3, 15, 64, 65, 130}) {
        for (const int64_t out : {1, 15, 16, 17, 33, 64, 65, 130}) {
          for (const int64_t rows : {1, 2, 3, 6, 8, 16, 33}) {
            check(rows, in, out, false, rows % 3, -kInfinity, kInfinity);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
      for (const int64_t rows : {1, 7, 40}) check(rows, 70, 50, true, 0, -1, 2);
      check(300, 1500, 20, true, 0, 0, kInfinity);  // more than one block of rows
    });
  });
}

TEST(LinearDynamicQ8, RangesSkipNan) {
  for_each_target([] {
    for (const int64_t columns : {1, 7, 16, 33}) {
      std::vector<float> x(static_cast<size_t>(3 * (columns + 2)), 0.5f);
      x[static_cast<size_t>(columns)] = -90;  // between the rows
      x[static_cast<size_t>(columns + 2)] = std::numeric_limits<float>::quiet_NaN();
      RangeF32 range = range_rows_f32(3, columns, x.data(), columns + 2);
      EXPECT_EQ(range.low, 0);
      EXPECT_EQ(range.high, 0.5f);
      x[static_cast<size_t>(2 * (columns + 2) + columns - 1)] = -3;
      range = range_rows_f32(3, columns, x.data(), columns + 2);
      EXPECT_EQ(range.low, -3);
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
