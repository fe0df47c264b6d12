#include "kernels/conv_nhwc/strassen_f32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_nhwc_testing.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

ConvNhwcShape pointwise(int64_t pixels, int64_t in, int64_t out) {
  return {.in_channels = in,
          .out_channels = out,
          .window = make_window(1, pixels, 1, 1),
          .strassen = true};
}

// Pairs of panels, as wide as the instruction set has them, some more panels and some more columns.
int64_t columns(int64_t panels, int64_t more) {
  return 384 + panels * tile_shape<float>().width + more;
}

// The data are integers, of which all sums are exact.
TEST(Strassen, NextToThePlainSum) {
  for_each_target([] {
    const auto conv = [](int64_t pixels, int64_t in, int64_t out, const ConvOptions& options) {
      const ConvNhwcShape shape = pointwise(pixels, in, out);
      EXPECT_EQ(conv_nhwc_f32_form(shape), kStrassen) << pixels << ", " << in << " to " << out;
      check(shape, options);
    };
    // Strips whose halves are equal and not, a whole one, and one after it.
    for (const int64_t pixels : {97, 112, 113}) conv(pixels, 200, columns(0, 0), {});
    // Columns without a pair: an odd panel, some of a panel, of a vector.
    conv(96, 200, columns(0, 1), {.bias = false});
    conv(96, 200, columns(0, 17), {.input_gap = 3});
    conv(96, 200, columns(1, 5), {.output_gap = 1});
    conv(96, 200, columns(1, 9), {});
    // More columns than are taken at a time.
    conv(96, 200, 1100, {});
    for (const auto& [activation, tolerance] :
         {std::pair{Activation{ActivationKind::kClamp, -3, 20}, 0.0},
          {Activation{ActivationKind::kHardswish}, 1e-6},
          {Activation{ActivationKind::kGelu}, 1e-6}}) {
      for (const bool last : {false, true}) {
        conv(99, 200, columns(1, 3),
             {.output_gap = 2,
              .residual = true,
              .residual_last = last,
              .activation = activation,
              .tolerance = tolerance});
      }
    }
  });
}

TEST(Strassen, SeveralThreads) {
  set_num_threads(2);
  check(pointwise(100, 200, columns(1, 7)));
  check(pointwise(1000, 200, columns(1, 7)));
  set_num_threads(1);
}

TEST(Strassen, SmallCaches) {
  const int64_t before = cached(int64_t{1} << 20);
  set_cache(int64_t{128} << 10);
  check(pointwise(170, 700, columns(1, 7)));
  set_cache(before);
}

// Few pixels or channels, an odd depth, weights that are dear, groups, windows and strides.
TEST(Strassen, OthersAreProductsAsTheyAre) {
  const auto form = [](const ConvNhwcShape& shape) { return conv_nhwc_f32_form(shape); };
  const ConvNhwcShape shape = pointwise(196, 512, 512);
  EXPECT_EQ(form(shape), kStrassen);
  EXPECT_EQ(form(pointwise(95, 512, 512)), 0);
  EXPECT_EQ(form(pointwise(196, 64, 512)), 0);
  EXPECT_EQ(form(pointwise(196, 512, 48)), 0);
  EXPECT_EQ(form(pointwise(196, 513, 512)), 0);
  EXPECT_EQ(form(pointwise(196, 1024, 2048)), 0);
  const auto changed = [&](const auto& change) {
    ConvNhwcShape other = shape;
    change(other);
    return form(other);
  };
  EXPECT_EQ(changed([](ConvNhwcShape& s) { s.strassen = false; }), 0);
  EXPECT_EQ(changed([](ConvNhwcShape& s) { s.lean = true; }), 0);
  EXPECT_EQ(changed([](ConvNhwcShape& s) { s.weights = WeightFormat::kFloat16; }), 0);
  EXPECT_EQ(changed([](ConvNhwcShape& s) { s.groups = 2; }), 0);
  EXPECT_EQ(changed([](ConvNhwcShape& s) { s.window = make_window(28, 28, 1, 1, 2); }), 0);
}

// What a pixel has that is no number stays in its strip.
TEST(Strassen, OtherStripsStayFreeOfNan) {
  for_each_target([] {
    const int64_t pixels = 600, in = 256, out = columns(0, 0);
    const ConvNhwcShape shape = pointwise(pixels, in, out);
    ASSERT_EQ(conv_nhwc_f32_form(shape), kStrassen);
    std::vector<float> input(static_cast<size_t>(pixels * in), 1),
        output(static_cast<size_t>(pixels * out));
    const std::vector<float> weight(static_cast<size_t>(in * out), 0.5f);
    input[static_cast<size_t>(in * 10)] = std::nanf("");
    const Packed packed(conv_nhwc_f32_packed_bytes(shape));
    conv_nhwc_f32_pack(shape, weight.data(), packed.data());
    conv_nhwc_f32(shape, input.data(), in, packed.data(), {}, output.data(), out);
    EXPECT_TRUE(std::isnan(output[static_cast<size_t>(out * 10)]));
    for (int64_t i = 120 * out; i < pixels * out; ++i) {
      ASSERT_EQ(output[static_cast<size_t>(i)], 128) << i;
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
