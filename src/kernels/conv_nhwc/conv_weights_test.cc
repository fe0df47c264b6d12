// Packed weights that are rounded.
#include "kernels/conv_nhwc/conv_nhwc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_nhwc_testing.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

// Next to weights in float32, for whole numbers, which are the same in all forms.
void check_rounded(WeightFormat format, ConvNhwcShape s, const ConvOptions& options = {}) {
  SCOPED_TRACE(text_of(s));
  const bool exists = format == WeightFormat::kFloat16 ? has_half_panels() : has_bfloat16();
  const ConvData data = data_for(s, options);
  const std::vector<float> want = convolve(s, data, options);
  const size_t bytes = conv_nhwc_f32_packed_bytes(s);
  s.weights = format;
  EXPECT_EQ(conv_nhwc_f32_weights(s), exists ? format : WeightFormat::kFloat32);
  EXPECT_EQ(conv_nhwc_f32_packed_bytes(s), exists ? bytes / 2 : bytes);
  const std::vector<float> got = convolve(s, data, options);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], options.tolerance) << i;
}

// Layers of all ways. bfloat16 takes even numbers of channels, Float16 odd ones, too.
void check_layers(WeightFormat format) {
  const int64_t odd = format == WeightFormat::kFloat16 ? 1 : 0;
  const ConvOptions options{.input_gap = 1,
                            .output_gap = 2,
                            .residual = true,
                            .activation = {ActivationKind::kClamp, -100, 100}};
  ConvOptions last = options;
  last.residual_last = true;
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (const int64_t pixels : {1, 2, 3, 4, 5, 7, 13, 14, 15, 19, 29, 61, 290}) {
      check_rounded(
          format,
          {.in_channels = 130, .out_channels = 145, .window = make_window(1, pixels, 1, 1)});
    }
    for (const int64_t out : {128, 130, 144, 160}) {
      const ConvNhwcShape s{
          .in_channels = 132 - odd, .out_channels = out, .window = make_window(3, 11, 1, 1)};
      check_rounded(format, s, options);
      check_rounded(format, s, last);
    }
    // Deep products, rows that share cache sets, and rows in strips of a tile.
    for (const int64_t in : {1024, 1030}) {
      const ConvNhwcShape deep{
          .in_channels = in, .out_channels = 70, .window = make_window(1, 61, 1, 1)};
      check_rounded(format, deep, options);
      check_rounded(format, deep, last);
    }
    const auto conv = [&](int64_t in, int64_t out, const Window2dShape& w, int64_t groups = 1) {
      check_rounded(format,
                    {.batch = 2,
                     .in_channels = in,
                     .out_channels = out,
                     .groups = groups,
                     .window = w,
                     .winograd = false},
                    options);
    };
    conv(46 - odd, 49, make_window(9, 7, 3, 3, 1, 1));
    conv(46 - odd, 49, make_window(21, 17, 3, 3, 1, 1));
    conv(46 - odd, 49, make_window(9, 7, 3, 3, 2, 1));
    conv(46 - odd, 49, make_window(1, 1, 3, 3, 1, 1));
    conv(128, 131, make_window(9, 7, 1, 1, 2));
    conv(96, 80, make_window(9, 7, 3, 3, 1, 1), 2);
    conv(70, 49, make_window(9, 17, 3, 3, 1, 7, 7));  // tap by tap
    conv(192, 128, make_window(9, 9, 3, 3, 2, 6, 6), 2);
    conv(520, 33, make_window(4, 5, 3, 3, 1, 1));
  }
  set_num_threads(1);
}

TEST(ConvNhwc, WeightsInHalfPrecision) {
  for_each_target([] {
    check_layers(WeightFormat::kFloat16);
    // The last group by itself.
    check_rounded(WeightFormat::kFloat16, {.batch = 2,
                                           .in_channels = 5 * 40,
                                           .out_channels = 5 * 10,
                                           .groups = 5,
                                           .window = make_window(6, 7, 3, 3, 1, 1),
                                           .winograd = false});
    // Transformed weights are rounded; the largest results are about 400.
    for (const int64_t groups : {1, 2}) {
      for (const int64_t size : {6, 17}) {
        check_rounded(WeightFormat::kFloat16,
                      {.batch = 4,
                       .in_channels = 48 * groups,
                       .out_channels = 49 * groups,
                       .groups = groups,
                       .window = make_window(size, size, 3, 3, 1, 1)},
                      {.tolerance = 1});
      }
    }
  });
}

TEST(ConvNhwc, HalfWeightsAreThoseOfManyRoundedToNearestEven) {
  for_each_target([] {
    ConvNhwcShape s{.in_channels = 128, .out_channels = 128, .window = make_window(1, 3, 1, 1)};
    std::vector<float> weight = random_data(128 * 128, 5);
    for (size_t i = 0; i < weight.size(); ++i) weight[i] *= 1 + static_cast<float>(i) * 0x1p-15f;
    std::vector<float> nearest = weight;
    if (has_half_panels()) {
      std::vector<Float16> halves(weight.size());
      round_panels(weight.data(), std::ssize(weight), halves.data());
      widen_panels(Panels<float>::of(halves.data(), WeightFormat::kFloat16), std::ssize(weight),
                   nearest.data());
      for (size_t i = 0; i < weight.size(); ++i) {
        ASSERT_NEAR(nearest[i], weight[i], 0x1p-11f * std::fabs(weight[i]));
      }
      EXPECT_NE(nearest, weight);
    }
    const ConvData exact{.input = random_data(3 * 128, 6),
                         .weight = nearest,
                         .bias = random_data(128, 7),
                         .residual = {},
                         .in_stride = 128,
                         .out_stride = 128,
                         .out_size = 3 * 128};
    ConvData rounded = exact;
    rounded.weight = weight;
    const std::vector<float> want = convolve(s, exact, {});
    s.weights = WeightFormat::kFloat16;
    EXPECT_EQ(convolve(s, rounded, {}), want);
    s.out_channels = 127;
    EXPECT_EQ(conv_nhwc_f32_weights(s), WeightFormat::kFloat32);
    s.in_channels = 3;
    s.out_channels = 1000;
    s.window = make_window(9, 9, 3, 3);
    EXPECT_EQ(conv_nhwc_f32_weights(s), WeightFormat::kFloat32) << "few channels";
  });
}

TEST(ConvNhwc, ProductsOfBFloat16) {
  for_each_target([] {
    check_layers(WeightFormat::kBFloat16);
    for (const int64_t out : {24, 32, 40}) {
      check_rounded(WeightFormat::kBFloat16,
                    {.in_channels = 16, .out_channels = out, .window = make_window(3, 11, 1, 1)});
    }
    for (const bool residual_last : {false, true}) {
      for (const ActivationKind kind :
           {ActivationKind::kNone, ActivationKind::kHardswish, ActivationKind::kGelu}) {
        check_rounded(WeightFormat::kBFloat16,
                      {.in_channels = 64, .out_channels = 50, .window = make_window(1, 75, 1, 1)},
                      {.bias = kind != ActivationKind::kNone,
                       .residual = true,
                       .residual_last = residual_last,
                       .activation = {kind}});
      }
    }
  });
}

float nearest_bfloat16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

// To nearest even: bfloat16 has 8 bits, and both factors have more here.
TEST(ConvNhwc, BFloat16RoundsWeightsAndActivationsToNearestEven) {
  if (!has_bfloat16()) GTEST_SKIP() << "this processor has no products of bfloat16";
  ConvNhwcShape s{.in_channels = 64, .out_channels = 40, .window = make_window(1, 19, 1, 1)};
  ConvData exact = data_for(s, {});
  for (size_t i = 0; i < exact.input.size(); ++i) exact.input[i] += static_cast<float>(i) / 512;
  for (size_t i = 0; i < exact.weight.size(); ++i) exact.weight[i] += static_cast<float>(i) / 512;
  ConvData rounded = exact;
  for (float& x : rounded.input) x = nearest_bfloat16(x);
  for (float& x : rounded.weight) x = nearest_bfloat16(x);
  EXPECT_NE(rounded.input, exact.input);
  EXPECT_NE(rounded.weight, exact.weight);
  const std::vector<float> want = convolve(s, rounded, {});
  s.weights = WeightFormat::kBFloat16;
  const std::vector<float> got = convolve(s, exact, {});
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-5f * std::fmax(1.0f, std::fabs(want[i]))) << i;
  }
}

TEST(ConvNhwc, BFloat16HasTheRangeOfFloat32) {
  if (!has_bfloat16()) GTEST_SKIP() << "this processor has no products of bfloat16";
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const ConvNhwcShape s{.in_channels = 16,
                        .out_channels = 24,
                        .window = make_window(1, 3, 1, 1),
                        .weights = WeightFormat::kBFloat16};
  ConvData data = data_for(s, {});
  std::fill(data.weight.begin(), data.weight.end(), 1.0f);
  std::fill(data.input.begin(), data.input.end(), 0.0f);
  data.input[0] = 0x1p100f;
  data.input[16] = kInfinity;
  data.input[32] = std::nanf("");
  const std::vector<float> got =
      convolve(s, data, {.bias = false, .activation = {ActivationKind::kClamp, 0, kInfinity}});
  for (size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(got[i], 0x1p100f);
    EXPECT_EQ(got[24 + i], kInfinity);
    EXPECT_TRUE(std::isnan(got[48 + i]));
  }
}

// Where it would not be faster, or channels make no pairs.
TEST(ConvNhwc, SomeLayersStayInFloat32) {
  const auto weights_of = [](const ConvNhwcShape& shape) {
    ConvNhwcShape s = shape;
    s.weights = WeightFormat::kBFloat16;
    return conv_nhwc_f32_weights(s);
  };
  const Window2dShape pixels = make_window(28, 28, 1, 1), window = make_window(28, 28, 3, 3, 1, 1);
  EXPECT_EQ(weights_of({.in_channels = 65, .out_channels = 64, .window = pixels}),
            WeightFormat::kFloat32);
  EXPECT_EQ(weights_of({.in_channels = 64, .out_channels = 16, .window = pixels}),
            WeightFormat::kFloat32);
  EXPECT_EQ(weights_of({.in_channels = 4, .out_channels = 64, .window = window}),
            WeightFormat::kFloat32);
  EXPECT_EQ(weights_of({.in_channels = 64, .out_channels = 64, .window = window}),
            WeightFormat::kFloat32)
      << "Winograd's algorithm";
  const ConvNhwcShape taken{.in_channels = 64, .out_channels = 64, .window = pixels};
  EXPECT_EQ(weights_of(taken), has_bfloat16() ? WeightFormat::kBFloat16 : WeightFormat::kFloat32);
  const Isa limit = limit_isa(Isa::kAvx512Vnni);
  EXPECT_EQ(weights_of(taken), WeightFormat::kFloat32);
  limit_isa(limit);
}

}  // namespace
}  // namespace torchlet::kernels
