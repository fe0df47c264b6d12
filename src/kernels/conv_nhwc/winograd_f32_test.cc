#include "kernels/conv_nhwc/winograd_f32.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_nhwc_testing.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

// The outputs of the tiles that a layer has, as "height x width", or "" for the direct convolution.
std::string tile_of(const ConvNhwcShape& shape) {
  const int form = conv_nhwc_f32_form(shape);
  if (form <= 0) return "";
  const WinogradTile& tile = kWinogradTiles[form];
  return std::to_string(tile.y.outputs) + " x " + std::to_string(tile.x.outputs);
}

// Winograd's algorithm where it is taken, next to the plain sum. The largest results are
// about 400.
TEST(Winograd, NextToThePlainSum) {
  const ConvOptions options{.input_gap = 3, .output_gap = 5, .tolerance = 8e-4};
  for_each_target([&] {
    const auto conv = [&](const std::string& tile, const Window2dShape& w, int64_t batch = 1,
                          int64_t channels = 40) {
      const ConvNhwcShape shape{
          .batch = batch, .in_channels = channels, .out_channels = channels + 9, .window = w};
      EXPECT_EQ(tile_of(shape), tile)
          << w.in_h << " x " << w.in_w << ", " << w.kernel_h << " x " << w.kernel_w << " taps";
      check(shape, options);
    };
    conv("4 x 4", make_window(16, 16, 3, 3, 1, 1));
    conv("4 x 4", make_window(13, 15, 3, 3, 1, 1), 2);  // tiles over the border
    conv("4 x 4", make_window(18, 17, 3, 3));           // no padding
    conv("2 x 2", make_window(6, 6, 3, 3, 1, 1));
    conv("4 x 4", make_window(28, 27, 3, 3, 1, 2, 2));  // dilation, uneven phases
    conv("4 x 4", make_window(12, 12, 3, 3, 1, 3, 3));
    conv("4 x 4", make_window(48, 31, 3, 3, 2, 1));
    conv("4 x 4", make_window(33, 18, 3, 3, 2), 2);
    conv("2 x 2", make_window(20, 19, 3, 3, 2, 1), 1, 120);
    conv("2 x 2", make_window(21, 20, 5, 5, 1, 2));
    conv("2 x 2", make_window(24, 23, 5, 5, 1, 4, 2));
    conv("1 x 4", make_window(15, 30, 1, 3));
    conv("4 x 1", make_window(30, 15, 3, 1));
    conv("1 x 4", make_window(3, 161, 1, 3, 2), 1, 200);
  });
}

// The products that a layer saves for each byte of its weights are as many as it has pixels.
TEST(Winograd, LeanWeightsAreThoseThatGainMuch) {
  const auto tile = [](int64_t size, int64_t channels, bool lean) {
    return tile_of({.in_channels = channels,
                    .out_channels = channels,
                    .window = {.in_h = size,
                               .in_w = size,
                               .out_h = size,
                               .out_w = size,
                               .kernel_h = 3,
                               .kernel_w = 3,
                               .pad_h = 1,
                               .pad_w = 1},
                    .lean = lean});
  };
  EXPECT_EQ(tile(56, 64, false), "4 x 4");
  EXPECT_EQ(tile(56, 64, true), "4 x 4");
  EXPECT_EQ(tile(28, 128, true), "4 x 4");
  EXPECT_EQ(tile(14, 256, false), "4 x 4");
  EXPECT_EQ(tile(14, 256, true), "2 x 2");
  EXPECT_EQ(tile(7, 512, false), "2 x 2");
  EXPECT_EQ(tile(7, 512, true), "");
}

// Each group by itself, on one thread and on two.
TEST(Winograd, Groups) {
  for_each_target([] {
    for (const bool last : {false, true}) {
      const ConvOptions options{.input_gap = 1,
                                .output_gap = 2,
                                .residual = true,
                                .residual_last = last,
                                .tolerance = 8e-4};
      const auto groups = [&](int64_t count, int64_t in, int64_t out, const Window2dShape& w) {
        const ConvNhwcShape shape{.batch = 2,
                                  .in_channels = count * in,
                                  .out_channels = count * out,
                                  .groups = count,
                                  .window = w};
        EXPECT_GT(conv_nhwc_f32_form(shape), 0) << in << " to " << out;
        check(shape, options);
      };
      groups(3, 20, 33, make_window(13, 15, 3, 3, 1, 1));
      set_num_threads(2);
      groups(5, 24, 24, make_window(7, 7, 3, 3, 1, 1));
      set_num_threads(1);
    }
  });
  EXPECT_EQ(conv_nhwc_f32_form({.in_channels = 32,
                                .out_channels = 32,
                                .groups = 2,
                                .window = make_window(28, 28, 3, 3, 1, 1)}),
            0)
      << "groups of few channels have tiles of their own";
}

}  // namespace
}  // namespace torchlet::kernels
