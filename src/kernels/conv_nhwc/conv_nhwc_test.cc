#include "kernels/conv_nhwc/conv_nhwc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/thread_pool.h"
#include "base/without_pool.h"
#include "kernels/conv_nhwc/conv_deep.h"
#include "kernels/conv_nhwc/conv_nhwc_testing.h"
#include "kernels/conv_nhwc/conv_runs.h"
#include "kernels/conv_nhwc/conv_taps.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

TEST(ConvNhwc, PointwiseOfAllTails) {
  for_each_target([] {
    for (const int64_t out : {1, 3, 15, 16, 17, 24, 32, 33, 40, 96}) {
      check({.in_channels = 19, .out_channels = out, .window = make_window(5, 6, 1, 1)});
    }
    for (const int64_t pixels : {1, 2, 3, 5, 7, 13, 14, 15, 29}) {
      check({.in_channels = 8, .out_channels = 20, .window = make_window(1, pixels, 1, 1)});
    }
    for (const int64_t in : {1, 3, 16, 40}) {
      check({.batch = 2, .in_channels = in, .out_channels = 18, .window = make_window(3, 3, 1, 1)});
    }
  });
}

// Several panels at once, and what is left of them.
TEST(ConvNhwc, OnePixel) {
  for_each_target([] {
    const auto pixel = make_window(1, 1, 1, 1);
    for (const int64_t out : {31, 64, 127, 128, 129, 160, 273, 512}) {
      for (const int64_t in : {1, 6, 131}) {
        check({.in_channels = in, .out_channels = out, .window = pixel});
        check({.in_channels = in, .out_channels = out, .window = pixel}, {.bias = false});
      }
      check({.in_channels = 7,
             .out_channels = out,
             .window = make_window(3, 3, 3, 3, 1, 0),
             .winograd = false});
      check({.in_channels = 7,
             .out_channels = out,
             .window = make_window(1, 1, 3, 3, 1, 1),
             .winograd = false});
    }
    // The last of several strips, and parts of a deep product.
    check({.in_channels = 24, .out_channels = 200, .window = make_window(1, 43, 1, 1)});
    check({.in_channels = 1030, .out_channels = 200, .window = make_window(1, 239, 1, 1)});
    for (const bool residual_last : {false, true}) {
      for (const ActivationKind kind :
           {ActivationKind::kClamp, ActivationKind::kHardswish, ActivationKind::kSilu}) {
        check({.in_channels = 9, .out_channels = 150, .window = pixel},
              {.residual = true,
               .residual_last = residual_last,
               .activation = {kind, -2, 3},
               .tolerance = 1e-6});
      }
    }
  });
}

// As sums along pixels where these are long, and few.
TEST(ConvNhwc, PointwiseToFewChannels) {
  for_each_target([] {
    for (const int64_t out : {1, 2, 3, 4, 5}) {
      for (const int64_t in : {1, 7, 8, 20, 64, 131}) {
        for (const int64_t gap : {0, 3}) {
          const ConvNhwcShape shape{.batch = 2,
                                    .in_channels = in,
                                    .out_channels = out,
                                    .window = make_window(3, 7, 1, 1)};
          EXPECT_EQ(conv_nhwc_f32_sums_pixels(shape), out <= 4 && in >= (out == 1 ? 8 : 64));
          check({.batch = 2, .in_channels = in, .out_channels = out, .window = shape.window},
                {.input_gap = gap, .output_gap = gap});
        }
      }
    }
  });
}

TEST(ConvNhwc, PixelStridesAboveTheChannels) {
  for_each_target([] {
    const ConvOptions gaps{.input_gap = 5, .output_gap = 3};
    check({.in_channels = 17, .out_channels = 21, .window = make_window(4, 9, 1, 1)}, gaps);
    check({.in_channels = 6, .out_channels = 21, .window = make_window(4, 9, 3, 3, 1, 1)}, gaps);
    check({.in_channels = 40, .out_channels = 5, .window = make_window(4, 9, 3, 3, 1, 1)}, gaps);
  });
}

TEST(ConvNhwc, PixelsThatShareCacheSets) {
  for_each_target(
      [] { check({.in_channels = 1024, .out_channels = 70, .window = make_window(5, 5, 1, 1)}); });
}

TEST(ConvNhwc, AnyWindow) {
  for_each_target([] {
    for (const int64_t channels : {1, 3, 4, 16, 17, 40}) {
      const auto conv = [&](const Window2dShape& w, int64_t batch = 1) {
        check({.batch = batch,
               .in_channels = channels,
               .out_channels = 17,
               .window = w,
               .winograd = false});
      };
      conv(make_window(9, 7, 3, 3, 1, 1), 2);
      conv(make_window(9, 7, 3, 3, 2, 1));
      conv(make_window(8, 31, 3, 3, 1, 1));
      conv(make_window(11, 13, 7, 7, 2, 3));
      conv(make_window(12, 12, 3, 3, 1, 2, 2));
      conv(make_window(5, 5, 3, 3, 1, 6, 6));  // only the middle tap meets the picture
      conv(make_window(3, 4, 3, 3, 1, 4));     // outputs that see padding alone
      conv(make_window(5, 9, 3, 3, 1, 0, 2));  // all taps can be read in place
      conv(make_window(9, 9, 1, 1, 2));
      conv(make_window(6, 10, 1, 5));
      conv(make_window(6, 10, 2, 1, 1, 1));
      // More padding below and to the right than sliding_output_size grants.
      Window2dShape more = make_window(6, 6, 3, 3, 2, 0);
      more.out_h = more.out_w = 3;
      conv(more);
    }
  });
}

TEST(ConvNhwc, Groups) {
  for_each_target([] {
    const auto conv = [](int64_t in, int64_t out, int64_t groups) {
      check({.in_channels = in,
             .out_channels = out,
             .groups = groups,
             .window = make_window(6, 7, 3, 3, 1, 1)});
    };
    conv(8, 8, 2);
    conv(8, 8, 8);
    conv(6, 24, 6);
    conv(4, 4, 4);
    conv(96, 32, 8);
    conv(10, 30, 5);
    conv(128, 72, 2);
    check({.in_channels = 32, .out_channels = 32, .groups = 8, .window = make_window(3, 20, 1, 1)});
    // A number of groups that those which fill a vector do not divide.
    conv(40, 40, 5);
    conv(66, 88, 11);
    conv(28, 28, 7);
    conv(36, 108, 9);
    conv(3, 24, 3);
    check({.batch = 2,
           .in_channels = 35,
           .out_channels = 35,
           .groups = 7,
           .window = make_window(9, 7, 3, 3, 2, 1)},
          {.input_gap = 3,
           .output_gap = 5,
           .residual = true,
           .activation = {ActivationKind::kClamp, -100, 100}});
    const auto bytes = [](int64_t groups) {
      return conv_nhwc_f32_packed_bytes({.in_channels = 8 * groups,
                                         .out_channels = 8 * groups,
                                         .groups = groups,
                                         .window = make_window(6, 7, 3, 3, 1, 1)});
    };
    EXPECT_EQ(bytes(11), bytes(10) + bytes(1)) << "ten of them in pairs";
  });
}

// Windows of few channels of a group, whose lines are copied.
TEST(ConvNhwc, GroupsOfFewChannels) {
  for_each_target([] {
    for (const int threads : {1, 2}) {
      set_num_threads(threads);
      for (const bool last : {false, true}) {
        const ConvOptions options{.input_gap = 1,
                                  .output_gap = 2,
                                  .residual = true,
                                  .residual_last = last,
                                  .activation = {ActivationKind::kClamp, -100, 100}};
        const auto conv = [&](int64_t in, int64_t out, int64_t groups, const Window2dShape& w) {
          check({.batch = 2,
                 .in_channels = in * groups,
                 .out_channels = out * groups,
                 .groups = groups,
                 .window = w,
                 .winograd = false},
                options);
        };
        conv(1, 16, 3, make_window(19, 23, 3, 3, 1, 1));
        conv(1, 37, 2, make_window(20, 9, 5, 5, 3, 2, 1));
        conv(2, 20, 4, make_window(9, 33, 7, 3, 1, 3));
        conv(3, 24, 2, make_window(17, 16, 3, 3, 2, 3, 3));
        conv(2, 4, 5, make_window(8, 9, 3, 3, 1, 1));  // two of them together
        conv(5, 13, 3, make_window(30, 31, 9, 9, 4, 0));
        conv(8, 16, 2, make_window(7, 70, 1, 15, 1, 0));
        conv(16, 17, 2, make_window(12, 11, 3, 3, 1, 1));
      }
    }
    set_num_threads(1);
    check({.in_channels = 6, .out_channels = 35, .window = make_window(21, 18, 3, 3, 2, 1)});
    check({.in_channels = 8, .out_channels = 16, .window = make_window(9, 40, 5, 5, 1, 2)});
  });
}

TEST(ConvNhwc, TapByTap) {
  for_each_target([] {
    const ConvOptions options{
        .input_gap = 1, .residual = true, .activation = {ActivationKind::kClamp, -100, 100}};
    // Deep sums.
    check({.in_channels = 6200, .out_channels = 35, .window = make_window(3, 5, 3, 3, 1, 1)},
          options);
    check({.in_channels = 6500, .out_channels = 32, .window = make_window(1, 33, 1, 1)}, options);
    // Taps on the padding.
    check({.batch = 2,
           .in_channels = 70,
           .out_channels = 49,
           .window = make_window(9, 17, 3, 3, 1, 7, 7)},
          options);
    check({.in_channels = 128,
           .out_channels = 64,
           .groups = 2,
           .window = make_window(9, 9, 3, 3, 2, 6, 6)},
          options);
  });
}

TEST(ConvNhwc, WindowsOfDeepSums) {
  for_each_target([] {
    const TileShape tile = tile_shape<float>();
    // Deep in float16, too.
    const int64_t size = sizeof(Float16);
    const int64_t channels = (int64_t{512} << 10) / (9 * tile.width * size) + 5;
    const auto deep = [&](const ConvNhwcShape& shape, const ConvOptions& options = {}) {
      const ConvRuns runs(shape, shape.in_channels + options.input_gap, tile);
      EXPECT_TRUE(suits_conv_deep<float>(runs) && !suits_taps<float>(runs)) << text_of(shape);
      check(shape, options);
    };
    // Rows of the kernel in one piece, and tap by tap where pixels have more channels.
    for (const int64_t gap : {0, 3}) {
      deep({.batch = 2,
            .in_channels = channels,
            .out_channels = tile.width + 3,
            .window = make_window(5, 7, 3, 3, 2, 1)},
           {.input_gap = gap, .output_gap = 1});
    }
    deep({.in_channels = channels,
          .out_channels = 2 * tile.width,
          .window = make_window(4, 4, 3, 3, 1, 1)},
         {.residual = true, .activation = {ActivationKind::kClamp, -100, 100}});
    // Padding below and to the right that is in the size of the result alone, dilated windows, more
    // rows than are worked on at once.
    Window2dShape padded = make_window(8, 8, 3, 3, 2, 0);
    padded.out_h = padded.out_w = 4;
    deep({.in_channels = channels, .out_channels = tile.width, .window = padded});
    deep({.in_channels = channels,
          .out_channels = tile.width + 1,
          .window = make_window(9, 9, 3, 3, 2, 1, 2)});
    deep({.in_channels = channels * 9 / 2 + 1,
          .out_channels = tile.width,
          .window = make_window(25, 13, 1, 2)});
  });
}

TEST(ConvNhwc, FewOutputs) {
  for_each_target([] {
    // One and a half vectors of channels of the output, on this instruction set.
    const int64_t most = tile_shape<float>().lanes * 3 / 2;
    const auto few = [&](int64_t in, int64_t out, const Window2dShape& window,
                         const ConvOptions& options = {}, int64_t batch = 1) {
      const ConvNhwcShape shape{.batch = batch,
                                .in_channels = in,
                                .out_channels = out,
                                .window = window,
                                .winograd = false};
      EXPECT_EQ(conv_nhwc_f32_form(shape) == kVectorsOfPixels, out <= most) << in << " to " << out;
      check(shape, options);
    };
    for (const int64_t out : {1, 2, 3, 4, 5, 6, 7, 8, 12, 17, 24, 25}) {
      few(5, out, make_window(6, 12, 3, 3, 1, 1));
      few(33, out, make_window(3, 29, 3, 3, 1, 1),
          {.input_gap = 3, .output_gap = 2, .activation = {ActivationKind::kClamp, -100, 100}}, 2);
      few(17, out, make_window(5, 40, 2, 4),
          {.residual = true, .activation = {ActivationKind::kClamp, -100, 100}});
    }
    // Wide and dilated windows, lines of one row, lines cut into parts, several blocks of lines.
    few(8, 2, make_window(15, 16, 17, 17, 1, 8), {.bias = false});
    few(9, 1, make_window(14, 25, 3, 3, 1, 5, 5));
    few(16, 2, make_window(1, 700, 1, 7, 1, 0));
    few(7, 1, make_window(4, 300, 5, 5, 1, 2),
        {.activation = {ActivationKind::kSigmoid}, .tolerance = 1e-6});
    few(21, 2, make_window(160, 130, 3, 3, 1, 1), {.residual = true, .residual_last = true});
    // A tall window over few channels, in parts of its lines.
    Window2dShape tall = make_window(150, 90, 261, 1);
    tall.pad_h = 130;
    tall.out_h = 150;
    few(1, 2, tall, {.output_gap = 1}, 2);
    few(4, 1, tall);
    // Padding below and to the right is in the size of the result alone.
    Window2dShape padded = make_window(6, 15, 3, 3, 1, 1);
    padded.out_h += 4;
    padded.out_w += 3;
    few(6, 2, padded, {.output_gap = 1});
    // Of shorter lines, steps of more than a pixel, and single pixels there is no such kernel.
    for (const Window2dShape& window :
         {make_window(9, 11, 3, 3, 1, 1), make_window(30, 30, 3, 3, 2, 1),
          make_window(30, 30, 1, 1), make_window(80, 80, 3, 3, 1, 20, 20)}) {
      EXPECT_NE(conv_nhwc_f32_form({.in_channels = 16, .out_channels = 1, .window = window}),
                kVectorsOfPixels);
    }
  });
}

TEST(ConvNhwc, SeveralThreads) {
  set_num_threads(2);
  check({.in_channels = 40, .out_channels = 2, .window = make_window(41, 50, 3, 3, 1, 1)});
  check({.in_channels = 64, .out_channels = 130, .window = make_window(40, 40, 1, 1)});
  check({.in_channels = 320, .out_channels = 500, .window = make_window(7, 7, 1, 1)});
  check({.in_channels = 64,
         .out_channels = 24,
         .groups = 2,
         .window = make_window(30, 30, 3, 3, 1, 1)});
  check({.in_channels = 2048, .out_channels = 1000, .window = make_window(1, 1, 1, 1)});
  check({.in_channels = 2048, .out_channels = 780, .window = make_window(1, 140, 1, 1)});
  check({.in_channels = 1100, .out_channels = 40, .window = make_window(11, 13, 3, 3, 2, 1)});
  check({.in_channels = 70, .out_channels = 100, .window = make_window(4, 4, 3, 3, 1, 1)});
  set_num_threads(1);
}

TEST(ConvNhwc, SmallCaches) {
  const int64_t before = cached(int64_t{1} << 20);
  set_cache(int64_t{128} << 10);
  check({.in_channels = 300, .out_channels = 210, .window = make_window(9, 17, 1, 1)});
  check({.in_channels = 70, .out_channels = 130, .window = make_window(13, 14, 3, 3, 2, 1)});
  check({.in_channels = 1030, .out_channels = 70, .window = make_window(1, 90, 1, 1)});
  check({.in_channels = 64, .out_channels = 70, .window = make_window(24, 23, 3, 3, 1, 1)},
        {.tolerance = 8e-4});  // by Winograd's algorithm
  set_cache(before);
}

TEST(ConvNhwc, Epilogues) {
  for_each_target([] {
    for (const auto kind :
         {ActivationKind::kNone, ActivationKind::kClamp, ActivationKind::kLeakyRelu,
          ActivationKind::kHardswish, ActivationKind::kHardsigmoid, ActivationKind::kSigmoid,
          ActivationKind::kSilu, ActivationKind::kTanh, ActivationKind::kGelu,
          ActivationKind::kGeluTanh}) {
      SCOPED_TRACE(static_cast<int>(kind));
      const Activation activation{kind, kind == ActivationKind::kClamp ? 0.0f : 0.125f, 6};
      const double tolerance = kind <= ActivationKind::kLeakyRelu ? 0 : 8e-7;
      for (const bool residual : {false, true})
        for (const bool last : {false, true}) {
          check({.in_channels = 2, .out_channels = 21, .window = make_window(3, 6, 1, 1)},
                {.output_gap = 2,
                 .bias = residual,
                 .residual = residual,
                 .residual_last = last,
                 .activation = activation,
                 .tolerance = tolerance});
        }
    }
  });
}

// Each way of convolving stores its results by itself.
TEST(ConvNhwc, EpiloguesOfAllWays) {
  const ConvNhwcShape shapes[] = {
      {.in_channels = 33,
       .out_channels = 35,
       .window = make_window(13, 14, 3, 3, 1, 1)},  // Winograd
      {.in_channels = 3,
       .out_channels = 35,
       .window = make_window(9, 40, 3, 3, 2, 1)},  // few channels
      {.in_channels = 70,
       .out_channels = 35,
       .window = make_window(6, 17, 3, 3, 1, 7, 7)},                                   // by tap
      {.in_channels = 1700, .out_channels = 35, .window = make_window(1, 170, 1, 1)},  // deep
      {.in_channels = 1100, .out_channels = 35, .window = make_window(9, 13, 3, 3, 2, 1)},
      {.in_channels = 12, .out_channels = 35, .window = make_window(9, 9, 3, 3, 2, 1)}};
  for_each_target([&] {
    for (const auto& shape : shapes)
      for (const auto kind :
           {ActivationKind::kClamp, ActivationKind::kHardswish, ActivationKind::kTanh})
        for (const bool last : {false, true}) {
          check(shape, {.output_gap = 1,
                        .residual = true,
                        .residual_last = last,
                        .activation = {kind, -300, 300},
                        .tolerance = 8e-4});
        }
  });
}

TEST(ConvNhwc, AsksForFiltersOnceAndInTheirOrder) {
  const WithoutPool one_thread;  // more threads ask for more at once
  const Window2dShape window = make_window(1, 4, 1, 1);
  const Window2dShape square = make_window(14, 14, 3, 3, 1, 1),
                      dilated = make_window(9, 9, 3, 3, 1, 2, 2);
  for (const ConvNhwcShape& s :
       {ConvNhwcShape{.in_channels = 1500, .out_channels = 1001, .window = window},
        ConvNhwcShape{.in_channels = 1536, .out_channels = 2048, .groups = 2, .window = window},
        ConvNhwcShape{.in_channels = 256, .out_channels = 200, .window = square},
        ConvNhwcShape{.in_channels = 256, .out_channels = 200, .groups = 2, .window = square},
        ConvNhwcShape{.in_channels = 30, .out_channels = 45, .groups = 5, .window = dilated},
        ConvNhwcShape{.in_channels = 256, .out_channels = 200, .window = dilated}}) {
    const int64_t taps = s.window.kernel_h * s.window.kernel_w;
    const auto filter = static_cast<size_t>(s.in_channels / s.groups * taps);
    std::vector<float> weight(filter * static_cast<size_t>(s.out_channels));
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i);
    const Packed all(conv_nhwc_f32_packed_bytes(s)), pieces(conv_nhwc_f32_packed_bytes(s));
    conv_nhwc_f32_pack(s, weight.data(), all.data());
    int64_t done = 0, times = 0;
    std::vector<float> some;
    const auto filters = [&](int64_t first, int64_t end) {
      EXPECT_EQ(first, done);
      EXPECT_LE(end, s.out_channels);
      done = end;
      ++times;
      some.assign(weight.begin() + first * static_cast<int64_t>(filter),
                  weight.begin() + end * static_cast<int64_t>(filter));
      return some.data();
    };
    conv_nhwc_f32_pack(s, filters, pieces.data());
    EXPECT_EQ(done, s.out_channels);
    if (weight.size() > size_t{1} << 18) {
      EXPECT_GT(times, 1);
    }
    EXPECT_EQ(std::memcmp(all.data(), pieces.data(), conv_nhwc_f32_packed_bytes(s)), 0);
  }
}

TEST(ConvNhwc, ResidualMayBeTheResultAndNanStays) {
  for_each_target([] {
    const ConvNhwcShape s{.in_channels = 1, .out_channels = 3, .window = make_window(1, 20, 1, 1)};
    std::vector<float> input(20, 1.0f);
    input[7] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> weight{1, 2, 3};
    alignas(64) float packed[64];
    ASSERT_LE(conv_nhwc_f32_packed_bytes(s), sizeof(packed));
    conv_nhwc_f32_pack(s, weight.data(), packed);
    for (const bool last : {false, true}) {
      std::vector<float> image(60, 10.0f);
      conv_nhwc_f32(s, input.data(), 1, packed,
                    {.residual = image.data(),
                     .residual_stride = 3,
                     .residual_last = last,
                     .activation = {ActivationKind::kClamp, 0, last ? 2.0f : 12.0f}},
                    image.data(), 3);
      for (size_t i = 0; i < 20; ++i) {
        for (size_t c = 0; c < 3; ++c) {
          const float value = image[i * 3 + c];
          if (i == 7)
            EXPECT_TRUE(std::isnan(value));
          else
            EXPECT_EQ(value, c == 0 ? 11.0f : 12.0f);
        }
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
