#include "kernels/conv_nhwc/dwconv_nhwc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/conv_nchw/conv_testing.h"
#include "kernels/conv_nhwc/dwconv_plane_by_plane.h"
#include "kernels/conv_nhwc/dwconv_task.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

constexpr float kUntouched = -77;

std::vector<float> numbers(int64_t count, int seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<size_t>(seed)) % 17) - 8;
  }
  return values;
}

// Small whole numbers: sums are exact in any order.
struct Case {
  DwConvShape shape;
  int64_t input_stride, output_stride;
  std::vector<float> input, weight, bias, residual, packed;

  Case(int64_t channels, const Window2dShape& window, int64_t batch, int64_t gap, int64_t group = 1)
      : shape{batch, channels, window, group},
        input_stride(channels + gap),
        output_stride(channels + 2 * gap),
        input(numbers(batch * window.in_h * window.in_w * input_stride, 1)),
        weight(numbers(channels * group * window.kernel_h * window.kernel_w, 2)),
        bias(numbers(channels, 3)),
        residual(numbers(batch * window.out_h * window.out_w * output_stride, 4)),
        packed(dwconv_nhwc_f32_packed_bytes(shape) / sizeof(float), kUntouched) {
    dwconv_nhwc_f32_pack(shape, weight.data(), packed.data());
  }

  std::vector<float> expected(bool with_residual, float low, float high) const {
    const Window2dShape& s = shape.window;
    std::vector<float> out(residual.size(), kUntouched);
    for (int64_t n = 0; n < shape.batch; ++n) {
      for (int64_t y = 0; y < s.out_h; ++y) {
        for (int64_t x = 0; x < s.out_w; ++x) {
          for (int64_t c = 0; c < shape.channels; ++c) {
            float sum = bias[static_cast<size_t>(c)];
            for (int64_t i = 0; i < s.kernel_h; ++i) {
              const int64_t iy = y * s.stride_h - s.pad_h + i * s.dilation_h;
              if (iy < 0 || iy >= s.in_h) continue;
              for (int64_t j = 0; j < s.kernel_w; ++j) {
                const int64_t ix = x * s.stride_w - s.pad_w + j * s.dilation_w;
                if (ix < 0 || ix >= s.in_w) continue;
                const float* in = input.data() + ((n * s.in_h + iy) * s.in_w + ix) * input_stride +
                                  c / shape.group * shape.group;
                const float* w =
                    weight.data() + c * shape.group * s.kernel_h * s.kernel_w + i * s.kernel_w + j;
                for (int64_t k = 0; k < shape.group; ++k) {
                  sum += w[k * s.kernel_h * s.kernel_w] * in[k];
                }
              }
            }
            const size_t at =
                static_cast<size_t>(((n * s.out_h + y) * s.out_w + x) * output_stride + c);
            if (with_residual) sum += residual[at];
            out[at] = std::fmin(high, std::fmax(low, sum));
          }
        }
      }
    }
    return out;
  }
};

Window2dShape window(int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  return make_window(size, size + 1, kernel, kernel, stride, pad, dilation);
}

// Winograd's algorithm rounds; a wrong sum is off by a whole number.
void expect_same(const DwConvShape& shape, const std::vector<float>& out,
                 const std::vector<float>& expected) {
  if (!dwconv_is_winograd(shape)) {
    ASSERT_EQ(out, expected);
    return;
  }
  ASSERT_EQ(out.size(), expected.size());
  for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 0.01) << "at " << i;
}

void check(int64_t channels, const Window2dShape& s, int64_t batch, int64_t gap,
           int64_t group = 1) {
  if (s.out_h == 0 || s.out_w == 0) return;
  SCOPED_TRACE(testing::Message() << channels << " channels " << s.in_h << "x" << s.in_w
                                  << " kernel " << s.kernel_h << " stride " << s.stride_h << " pad "
                                  << s.pad_h << " dilation " << s.dilation_h << " groups of "
                                  << group);
  const Case data(channels, s, batch, gap, group);
  ASSERT_TRUE(dwconv_takes(data.shape));
  EpilogueF32 epilogue{.bias = data.bias.data(), .activation = {ActivationKind::kClamp, -30, 40}};
  std::vector<float> out(data.residual.size(), kUntouched);
  dwconv_nhwc_f32(data.shape, data.input.data(), data.input_stride, data.packed.data(), epilogue,
                  out.data(), data.output_stride);
  expect_same(data.shape, out, data.expected(false, -30, 40));
  epilogue.residual = data.residual.data();
  epilogue.residual_stride = data.output_stride;
  dwconv_nhwc_f32(data.shape, data.input.data(), data.input_stride, data.packed.data(), epilogue,
                  out.data(), data.output_stride);
  expect_same(data.shape, out, data.expected(true, -30, 40));
}

TEST(DwConvNhwc, ChannelsKernelsStridesAndPaddings) {
  for_each_target([] {
    for (int64_t channels : {1, 3, 15, 16, 17, 24, 40, 96}) {
      for (int64_t size : {1, 4, 7, 14}) {
        for (int64_t stride : {1, 2}) {
          check(channels, window(size, 3, stride, 1, 1), 2, channels % 3);
          check(channels, window(size, 5, stride, 2, 1), 1, channels % 2);
        }
      }
    }
  });
}

TEST(DwConvNhwc, WidthsOfAnyKernel) {
  for_each_target([] {
    for (int64_t channels : {7, 16, 24}) {
      for (int64_t size : {3, 9, 17, 31}) {
        for (int64_t stride : {1, 2}) {
          for (int64_t kernel : {1, 2, 4, 6, 7, 8, 9, 11, 13, 31}) {
            check(channels, window(size, kernel, stride, kernel / 2, 1), 1, 1);
            check(channels, window(size, kernel, stride, kernel / 3, 1), 1, 0);
          }
        }
      }
    }
  });
}

TEST(DwConvNhwc, Groups) {
  for_each_target([] {
    for (int64_t group : {2, 4, 8, 16, 32}) {
      for (int64_t size : {4, 7, 9, 17}) {
        for (int64_t stride : {1, 2}) {
          const int64_t enough = stride == 2 && size < 9 ? 2 * size : size;
          check(64, window(enough, 3, stride, 1, 1), 2, 1, group);
          check(32, window(enough + 3, 3, stride, 0, 1), 1, 0, group < 32 ? group : 16);
          check(64, window(enough, 5, stride, 2, 1), 1, 1, group);
        }
      }
    }
  });
}

// In vectors of their own: any window and stride, planes and vectors that are full and that are
// not, a last unit of fewer groups, padding that is as wide as the picture.
TEST(DwConvNhwc, GroupsInVectorsOfTheirOwn) {
  const auto is_grouped = [](int64_t channels, int64_t group, const Window2dShape& s) {
    return dwconv_is_grouped({1, channels, s, group});
  };
  EXPECT_TRUE(is_grouped(96, 12, window(9, 3, 1, 1, 1)));
  EXPECT_TRUE(is_grouped(96, 16, window(9, 3, 2, 1, 1)));
  EXPECT_TRUE(is_grouped(96, 8, window(9, 5, 1, 2, 1)));
  EXPECT_TRUE(is_grouped(96, 8, window(9, 3, 3, 1, 1)));
  EXPECT_FALSE(is_grouped(96, 8, window(9, 3, 1, 1, 1)));   // looked up
  EXPECT_FALSE(is_grouped(96, 16, window(9, 3, 1, 1, 1)));  // by Winograd
  EXPECT_FALSE(is_grouped(96, 1, window(9, 5, 1, 2, 1)));   // depthwise
  for_each_target([] {
    for (int64_t group : {2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 20, 24, 31, 32}) {
      for (int64_t groups : {2, 3, 9}) {
        const int64_t channels = group * groups;
        if (channels < 16 || channels > 100) continue;
        for (int64_t stride : {1, 2, 3}) {
          const int64_t size = 5 * stride;
          check(channels, make_window(3, size + 3, 5, 5, stride, 2, 1), 1, group % 2, group);
          check(channels, make_window(6, size + 6, 4, 3, stride, 1, 2), 2, 3, group);
          check(channels, make_window(3, size, 2, 2, stride, 0, 1), 1, 0, group);
        }
        check(channels, make_window(4, 9, 7, 7, 1, 3, 1), 1, 1, group);
      }
    }
    for (int64_t width : {4, 5, 7, 8, 13, 14, 15, 16, 20, 28, 29, 44}) {
      for (int64_t group : {4, 8, 16}) {
        check(32, make_window(3, width, 2, 5, 1, 2, 1), 1, 1, group);
        check(32, make_window(3, 2 * width, 3, 5, 2, 2, 1), 1, 1, group);
      }
    }
    check(32, make_window(2, 4, 5, 5, 1, 4, 1), 1, 0, 16);
    check(32, make_window(3, 2, 9, 9, 1, 6, 1), 2, 0, 8);    // taps on no pixel
    check(24, make_window(1, 40, 1, 9, 1, 0, 1), 2, 0, 12);  // a signal
    check(32, make_window(20, 16, 5, 5, 2, 2, 3), 1, 0, 8);  // stride and dilation
    Window2dShape rows = make_window(30, 9, 3, 3, 1, 1, 1);  // rows that nothing reads
    rows.stride_h = 5;
    rows.out_h = 6;
    check(24, rows, 1, 1, 12);
  });
}

// A vector reaches over the channels that come next, but not over those of another task.
TEST(DwConvNhwc, GroupsOfARangeOfChannels) {
  for_each_target([] {
    for (const auto& [channels, group] : {std::pair(96, 12), std::pair(60, 5), std::pair(54, 6)}) {
      const Case data(channels, window(9, 5, 1, 2, 1), 1, 0, group);
      const Window2dShape& s = data.shape.window;
      const EpilogueF32 epilogue{.bias = data.bias.data(), .activation = {}};
      const std::vector<float> expected = data.expected(false, -INFINITY, INFINITY);
      const DwConvBlocks blocks = dwconv_blocks_of<float>(data.shape);
      std::vector<const float*> rows;
      for (int64_t y = 0; y < s.in_h; ++y) {
        rows.push_back(data.input.data() + y * s.in_w * data.input_stride);
      }
      for (int64_t block = 0; block < blocks.count; ++block) {
        std::vector<float> out(expected.size(), kUntouched);
        dwconv_group_task({&data.shape, rows.data(), data.input_stride, data.packed.data(),
                           &epilogue, out.data(), data.output_stride, 0, s.out_h, block,
                           block + 1});
        for (size_t i = 0; i < out.size(); ++i) {
          const int64_t c = static_cast<int64_t>(i) % data.output_stride;
          ASSERT_EQ(out[i], c / blocks.channels == block ? expected[i] : kUntouched);
        }
      }
    }
  });
}

// Vectors hold parts of groups; the last one, another part than any before it. Exactly as much
// memory as the images have, so that a sanitizer sees a vector that reaches over it.
TEST(DwConvNhwc, GroupsThatDoNotFillVectors) {
  for_each_target([] {
    for (int64_t group = 2; group <= 16; ++group) {
      for (int64_t groups : {2, 3, 7, 11}) {
        const int64_t channels = group * groups;
        if (channels < 16 || channels > 120) continue;
        for (int64_t stride : {1, 2}) {
          check(channels, window(9, 3, stride, 1, 1), 1, 0, group);
          check(channels, make_window(3, 17 * stride, 3, 3, stride, 1, 1), 2, 3, group);
        }
      }
    }
    check(45, window(14, 3, 1, 2, 2), 1, 0, 3);
    check(84, window(14, 3, 1, 2, 2), 1, 1, 12);
  });
}

TEST(DwConvNhwc, GroupsByWinograd) {
  const auto is_winograd = [](int64_t channels, int64_t group, const Window2dShape& s) {
    return dwconv_is_winograd({1, channels, s, group});
  };
  EXPECT_TRUE(is_winograd(32, 16, window(9, 3, 1, 1, 1)));
  EXPECT_TRUE(is_winograd(32, 16, window(11, 3, 1, 0, 1)));
  EXPECT_FALSE(is_winograd(32, 16, window(8, 3, 1, 1, 1)));  // 6 tiles
  EXPECT_FALSE(is_winograd(32, 8, window(9, 3, 1, 1, 1)));
  EXPECT_FALSE(is_winograd(32, 32, window(9, 3, 1, 1, 1)));
  EXPECT_FALSE(is_winograd(32, 16, window(19, 3, 2, 1, 1)));
  EXPECT_FALSE(is_winograd(32, 16, window(19, 3, 1, 2, 2)));
  for_each_target([] {
    // Batches of tiles, of which the last has any number; tiles that are not whole; padding.
    for (const auto& [height, width] :
         {std::pair(1, 37), std::pair(2, 34), std::pair(6, 18), std::pair(9, 9), std::pair(12, 12),
          std::pair(22, 10), std::pair(23, 39), std::pair(35, 4)}) {
      for (int64_t pad : {0, 1, 2}) {
        const Window2dShape s = make_window(std::max(1, height + 2 - 2 * static_cast<int>(pad)),
                                            width + 2 - 2 * pad, 3, 3, 1, pad, 1);
        ASSERT_TRUE(dwconv_is_winograd({2, 32, s, 16}));
        check(32, s, 2, pad, 16);
      }
    }
    // Strips of rows, each of whole tiles.
    check(16, window(203, 3, 1, 1, 1), 1, 0, 16);
    for (const Activation& activation :
         {Activation{ActivationKind::kHardswish}, Activation{ActivationKind::kSigmoid}}) {
      const Case data(16, window(9, 3, 1, 1, 1), 1, 0, 16);
      std::vector<float> out(data.residual.size()), plain(out.size());
      const auto run = [&](const Activation& a, const float* residual, std::vector<float>& to) {
        const EpilogueF32 epilogue{
            .bias = data.bias.data(), .residual = residual, .residual_stride = 16, .activation = a};
        dwconv_nhwc_f32(data.shape, data.input.data(), 16, data.packed.data(), epilogue, to.data(),
                        16);
      };
      for (const float* residual : {static_cast<const float*>(nullptr), data.residual.data()}) {
        run({}, residual, plain);
        run(activation, residual, out);
        for (size_t i = 0; i < out.size(); ++i) {
          const float x = plain[i];
          const float expected = activation.kind == ActivationKind::kHardswish
                                     ? x * std::fmin(6, std::fmax(0, x + 3)) / 6
                                     : 1 / (1 + std::exp(-x));
          ASSERT_NEAR(out[i], expected, 1e-5 * std::fmax(1, std::fabs(x))) << "at " << i;
        }
      }
    }
  });
}

TEST(DwConvNhwc, DilatedColumnsInPhases) {
  for_each_target([] {
    for (int64_t dilation : {2, 3, 5}) {
      for (int64_t size : {14, 17, 23}) {
        for (int64_t pad : {int64_t{0}, dilation}) {
          check(24, window(size, 3, 1, pad, dilation), 2, 1);
          check(16, window(size, 5, 1, 2 * pad, dilation), 1, 0);
          check(16, window(size, 7, 1, pad, dilation), 1, 1);
          if (pad == 0) continue;
          check(64, window(size + 6, 3, 1, pad, dilation), 2, 1, 4);
          check(64, window(size + 6, 3, 1, pad, dilation), 1, 0, 32);
        }
      }
    }
    check(16, window(2, 3, 1, 4, 4), 1, 1);
  });
}

// Few lines, so that there is time for each tile, whole and where it overlaps the one before.
TEST(DwConvNhwc, TilesOfEveryWidth) {
  constexpr int kSizes[] = {8, 7, 4};
  const auto tiles = [&](int64_t width) {
    const DwConvTiles t = dwconv_tiles(kSizes, 3, width);
    return t.first < 0 ? std::pair(0, 0) : std::pair(kSizes[t.first], kSizes[t.last]);
  };
  EXPECT_EQ(tiles(3), std::pair(0, 0));
  EXPECT_EQ(tiles(4).first, 4);
  EXPECT_EQ(tiles(8).first, 8);
  EXPECT_EQ(tiles(10), std::pair(7, 4));
  EXPECT_EQ(tiles(12), std::pair(8, 4));
  EXPECT_EQ(tiles(14).first, 7);
  for_each_target([] {
    for (int64_t width : {4, 7, 8, 9, 10, 11, 14, 15, 16, 18, 19, 28, 30, 32, 35}) {
      for (int64_t kernel : {3, 4, 5, 7, 9}) {
        check(16, make_window(3, width, kernel, kernel, 1, kernel / 2, 1), 1, 1);
      }
      for (int64_t group : {2, 16}) {
        check(32, make_window(3, width, 3, 3, 1, 1, 1), 1, 1, group);
        if (group == 16) check(32, make_window(3, width, 5, 5, 1, 2, 1), 1, 1, group);
      }
    }
  });
}

TEST(DwConvNhwc, GroupsThatItDoesNotTake) {
  for_each_target([] {
    const auto takes = [](int64_t channels, int64_t group, const Window2dShape& s) {
      return dwconv_takes({1, channels, s, group});
    };
    const int64_t lanes = dwconv_group_lanes();
    EXPECT_TRUE(takes(96, 16, window(9, 3, 1, 1, 1)));
    EXPECT_TRUE(takes(96, 12, window(9, 3, 1, 1, 1)));
    EXPECT_TRUE(takes(96, 24, window(9, 3, 1, 1, 1)));
    EXPECT_TRUE(takes(24, 8, window(9, 3, 1, 1, 1)));
    EXPECT_FALSE(takes(15, 5, window(9, 3, 1, 1, 1)));              // few channels at all
    EXPECT_EQ(takes(128, 64, window(9, 3, 1, 1, 1)), lanes == 16);  // else a product is faster
    EXPECT_FALSE(takes(260, 130, window(9, 3, 1, 1, 1)));
    EXPECT_TRUE(takes(96, 16, window(9, 5, 1, 2, 1)));
    EXPECT_TRUE(takes(96, 12, window(9, 5, 2, 2, 1)));
    EXPECT_EQ(takes(16, 16, window(9, 5, 1, 2, 1)), lanes == 16);
    EXPECT_FALSE(takes(32, 32, window(9, 5, 1, 2, 1)));  // one group
    EXPECT_FALSE(takes(96, 16, window(9, 1, 1, 0, 1)));
    EXPECT_TRUE(takes(96, 16, window(9, 7, 1, 3, 1)));
    EXPECT_FALSE(takes(96, 16, window(8, 3, 3, 1, 1)));  // 3 columns
    EXPECT_FALSE(takes(96, 16, window(3, 3, 1, 0, 1)));
    EXPECT_TRUE(takes(96, 4, window(9, 3, 2, 2, 2)));
  });
}

// Builds for certain models ask it of their filters.
TEST(DwConvNhwc, TellsWhichFiltersAreRare) {
  EXPECT_FALSE(dwconv_is_rare(32, 1, 3));
  EXPECT_FALSE(dwconv_is_rare(32, 1, 5));
  EXPECT_TRUE(dwconv_is_rare(32, 1, 7));
  EXPECT_TRUE(dwconv_is_rare(64, 4, 3));
  EXPECT_TRUE(dwconv_is_rare(240, 12, 5));
  EXPECT_TRUE(dwconv_is_rare(64, 32, 3));
  EXPECT_TRUE(dwconv_is_rare(16, 16, 3));
  EXPECT_FALSE(dwconv_is_rare(32, 32, 3));   // one group
  EXPECT_FALSE(dwconv_is_rare(128, 64, 3));  // wide groups
  EXPECT_FALSE(dwconv_is_rare(8, 4, 3));     // less than a vector
  EXPECT_FALSE(dwconv_is_rare(64, 4, 1));
}

TEST(DwConvNhwc, AnyWindow) {
  for_each_target([] {
    for (int64_t channels : {5, 32, 200}) {
      check(channels, window(9, 3, 1, 0, 1), 1, 0);
      check(channels, window(9, 3, 1, 2, 2), 1, 1);
      check(channels, window(9, 3, 1, 4, 4), 1, 1);
      check(channels, window(12, 4, 3, 1, 1), 2, 0);
      check(channels, window(40, 3, 2, 2, 2), 1, 1);
      check(channels, window(50, 2, 3, 0, 1), 1, 0);
      check(channels, window(9, 7, 1, 3, 1), 1, 4);
      check(channels, window(3, 3, 1, 6, 5), 1, 0);  // windows that lie on padding alone
      check(channels, window(6, 1, 2, 0, 1), 1, 0);
      Window2dShape wide = window(8, 3, 1, 1, 1);  // one tap row, other strides down and across
      wide.kernel_h = 1;
      wide.pad_h = 0;
      wide.stride_h = 3;
      wide.out_h = 3;
      check(channels, wide, 1, 0);
    }
  });
}

TEST(DwConvNhwc, ChannelsOfManyBlocks) { check(1000, window(20, 3, 1, 1, 1), 1, 0); }

TEST(DwConvNhwc, RangesOfRowsAreTheWhole) {
  const Case data(40, window(11, 3, 2, 1, 1), 1, 3);
  const Window2dShape& s = data.shape.window;
  const EpilogueF32 epilogue{.bias = data.bias.data(),
                             .residual = data.residual.data(),
                             .residual_stride = data.output_stride,
                             .activation = {}};
  std::vector<const float*> rows;
  for (int64_t y = 0; y < s.in_h; ++y) {
    rows.push_back(data.input.data() + y * s.in_w * data.input_stride);
  }
  std::vector<float> out(data.residual.size(), kUntouched);
  for (int64_t begin = 0; begin < s.out_h; begin += 4) {
    EpilogueF32 local = epilogue;
    local.residual += begin * s.out_w * data.output_stride;
    dwconv_nhwc_rows(data.shape, rows.data(), data.input_stride, data.packed.data(), local,
                     out.data() + begin * s.out_w * data.output_stride, data.output_stride, begin,
                     std::min(begin + 4, s.out_h));
  }
  ASSERT_EQ(out, data.expected(true, -INFINITY, INFINITY));
}

TEST(DwConvNhwc, ActivationsAfterTheSum) {
  for_each_target([] {
    const Case data(24, window(6, 3, 1, 1, 1), 1, 0);
    EpilogueF32 epilogue{.bias = data.bias.data(),
                         .residual = data.residual.data(),
                         .residual_stride = data.output_stride,
                         .residual_last = true,
                         .activation = {ActivationKind::kLeakyRelu, 0.5f, 0}};
    std::vector<float> out(data.residual.size());
    dwconv_nhwc_f32(data.shape, data.input.data(), data.input_stride, data.packed.data(), epilogue,
                    out.data(), data.output_stride);
    const std::vector<float> sums = data.expected(false, -INFINITY, INFINITY);
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], (sums[i] < 0 ? 0.5f * sums[i] : sums[i]) + data.residual[i]);
    }
  });
}

TEST(DwConvNhwc, Hardswish) {
  for_each_target([] {
    for (const auto& [channels, group, kernel] :
         {std::tuple(5, 1, 3), std::tuple(24, 1, 3), std::tuple(24, 1, 7), std::tuple(24, 4, 3),
          std::tuple(24, 3, 5), std::tuple(24, 12, 3), std::tuple(32, 16, 5)}) {
      const Case data(channels, window(9, kernel, 1, kernel / 2, 1), 1, 1, group);
      const EpilogueF32 epilogue{.bias = data.bias.data(),
                                 .activation = {ActivationKind::kHardswish}};
      std::vector<float> out(data.residual.size(), kUntouched);
      dwconv_nhwc_f32(data.shape, data.input.data(), data.input_stride, data.packed.data(),
                      epilogue, out.data(), data.output_stride);
      const std::vector<float> sums = data.expected(false, -INFINITY, INFINITY);
      for (size_t i = 0; i < out.size(); ++i) {
        if (static_cast<int64_t>(i) % data.output_stride >= channels) continue;
        const float gate = std::fmin(6.0f, std::fmax(0.0f, sums[i] + 3)) / 6;
        ASSERT_FLOAT_EQ(out[i], sums[i] * gate);
      }
    }
  });
}

std::vector<float> planes_of(const std::vector<float>& image, int64_t pixels, int64_t channels) {
  std::vector<float> planes(image.size());
  nhwc_to_nchw(sizeof(float), 2, channels, pixels, image.data(), channels, planes.data());
  return planes;
}

// All ways between NCHW and NHWC, against the NHWC kernel.
void check_planes(int64_t channels, const Window2dShape& s, int64_t group,
                  const Activation& activation) {
  const Case data(channels, s, 2, 0, group);
  const EpilogueF32 epilogue{.bias = data.bias.data(), .activation = activation};
  std::vector<float> image(static_cast<size_t>(2 * s.out_h * s.out_w * channels));
  dwconv_nhwc_f32(data.shape, data.input.data(), channels, data.packed.data(), epilogue,
                  image.data(), channels);
  if (activation.kind == ActivationKind::kClamp) {
    expect_same(data.shape, image, data.expected(false, activation.low, activation.high));
  }
  const std::vector<float> planes = planes_of(image, s.out_h * s.out_w, channels);
  const std::vector<float> input = planes_of(data.input, s.in_h * s.in_w, channels);
  for (const bool reads : {false, true}) {
    for (const bool writes : {false, true}) {
      std::vector<float> out(image.size(), kUntouched);
      dwconv_planes_f32(data.shape, reads, reads ? input.data() : data.input.data(), channels,
                        data.packed.data(), epilogue, writes, out.data(), channels);
      ASSERT_EQ(out, writes ? planes : image);
    }
  }
}

// Channels of one and of many pieces and
// with a last block that overlaps, images of one and of many strips.
TEST(DwConvNhwc, PlanesAreReadAndWritten) {
  for_each_target([&] {
    for (const auto& [channels, group, s] :
         {std::tuple(5, 1, window(7, 3, 1, 1, 1)), std::tuple(40, 1, window(9, 5, 2, 2, 1)),
          std::tuple(64, 16, window(9, 3, 2, 1, 1)), std::tuple(96, 16, window(90, 3, 1, 1, 1)),
          std::tuple(108, 12, window(9, 3, 1, 1, 1)), std::tuple(105, 3, window(15, 3, 2, 1, 1)),
          std::tuple(108, 12, make_window(90, 9, 5, 5, 2, 2, 1)),
          std::tuple(105, 3, make_window(90, 9, 5, 5, 1, 2, 1)),
          std::tuple(110, 5, make_window(20, 9, 7, 7, 2, 3, 1)),
          std::tuple(192, 24, make_window(90, 9, 3, 3, 2, 1, 1)),
          std::tuple(83, 1, window(6, 3, 1, 2, 2)), std::tuple(96, 32, window(8, 3, 1, 1, 1)),
          std::tuple(35, 1, make_window(120, 30, 7, 3, 1, 3, 1)),
          std::tuple(32, 8, make_window(130, 41, 3, 3, 2, 1, 1))}) {
      SCOPED_TRACE(testing::Message() << channels << " channels, groups of " << group);
      check_planes(channels, s, group, {ActivationKind::kClamp, -30, 40});
    }
  });
}

// Pictures of fewer channels than a vector has lanes, from the size on that is laid apart, and
// between planes windows of few taps.
TEST(DwConvNhwc, PlaneByPlane) {
  for_each_target([] {
    for (const int64_t channels : {1, 2, 3, 4, 5, 8, 12, 15}) {
      for (const Window2dShape& s :
           {window(33, 3, 1, 1, 1), window(40, 5, 1, 2, 1), window(39, 3, 1, 2, 2),
            window(67, 4, 2, 1, 1), window(100, 7, 3, 3, 1),
            make_window(130, 33, 1, 11, 1, 5, 1)}) {
        const DwConvShape shape{1, channels, s};
        // Vectors of which only some lanes count convolve more than a few channels as they lie.
        ASSERT_EQ(dwconv_suits_plane_by_plane(shape, {}, false),
                  channels <= 4 || dwconv_least_channels() > channels);
        check(channels, s, 2, 3);
        check_planes(channels, s, 1, {ActivationKind::kClamp, -30, 40});
        check_planes(channels, s, 1, {ActivationKind::kHardswish});
      }
    }
    for (const int64_t channels : {35, 64}) {
      const Window2dShape strided{.in_h = 1,
                                  .in_w = 2101,
                                  .out_h = 1,
                                  .out_w = 1051,
                                  .kernel_h = 1,
                                  .kernel_w = 5,
                                  .stride_w = 2,
                                  .pad_w = 4,
                                  .dilation_w = 2};
      const Window2dShape long_tap{.in_h = 1,
                                   .in_w = 1090,
                                   .out_h = 1,
                                   .out_w = 1089,
                                   .kernel_h = 1,
                                   .kernel_w = 8,
                                   .pad_w = 3};
      for (const Window2dShape& s :
           {window(33, 1, 1, 0, 1), window(40, 2, 1, 2, 3), strided, long_tap}) {
        ASSERT_TRUE(dwconv_suits_plane_by_plane({1, channels, s}, {}, true));
        ASSERT_FALSE(dwconv_suits_plane_by_plane({1, channels, s}, {}, false));
        check_planes(channels, s, 1, {ActivationKind::kClamp, -30, 40});
        check_planes(channels, s, 1, {ActivationKind::kHardswish});
      }
    }
    EXPECT_FALSE(dwconv_suits_plane_by_plane({1, 16, window(40, 5, 1, 2, 1)}, {}, true));
    EXPECT_FALSE(dwconv_suits_plane_by_plane({1, 3, window(15, 5, 1, 2, 1)}, {}, true));
  });
}

// Groups between planes: tiles that fit, and a last one that overlaps; groups that fill vectors of
// the weights and that do not; columns that no vector has or that nothing reads, taps on no pixel,
// images of many strips.
TEST(DwConvNhwc, VectorsOfPixels) {
  for_each_target([] {
    for (const int64_t width : {48, 60, 64, 101}) {
      const auto shapes = {std::tuple(64, 16, make_window(9, 2 * width, 3, 3, 2, 1, 1)),
                           std::tuple(48, 12, make_window(5, width, 3, 3, 1, 1, 1)),
                           std::tuple(48, 24, make_window(6, 2 * width + 3, 5, 4, 2, 2, 1)),
                           std::tuple(64, 32, make_window(12, width + 8, 5, 5, 1, 2, 3)),
                           std::tuple(40, 20, make_window(90, 2 * width - 1, 2, 7, 2, 5, 1))};
      for (const auto& [channels, group, s] : shapes) {
        SCOPED_TRACE(testing::Message() << "groups of " << group << ", " << s.out_w << " wide");
        check_planes(channels, s, group, {ActivationKind::kClamp, -30, 40});
        check_planes(channels, s, group, {ActivationKind::kHardswish});
      }
    }
    const auto suits = [](int64_t group, const Window2dShape& s) {
      return dwconv_suits_pixels({.batch = 1, .channels = 96, .window = s, .group = group});
    };
    EXPECT_TRUE(suits(16, make_window(9, 96, 3, 3, 2, 1, 1)));
    EXPECT_TRUE(suits(12, make_window(9, 48, 3, 3, 1, 1, 1)));
    EXPECT_FALSE(suits(16, make_window(9, 96, 3, 3, 3, 1, 1)));  // pixels too far apart
    EXPECT_FALSE(suits(15, make_window(9, 48, 3, 3, 1, 1, 1)));
    EXPECT_FALSE(suits(12, make_window(9, 8, 3, 3, 1, 1, 1)));
  });
}

TEST(DwConvNhwc, NaNGoesThroughAClamp) {
  for_each_target([] {
    Case data(16, window(3, 3, 1, 1, 1), 1, 0);
    data.input[0] = std::numeric_limits<float>::quiet_NaN();
    const EpilogueF32 epilogue{.activation = {ActivationKind::kClamp, 0, 6}};
    std::vector<float> out(data.residual.size());
    dwconv_nhwc_f32(data.shape, data.input.data(), 16, data.packed.data(), epilogue, out.data(),
                    16);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_FALSE(std::isnan(out[1]));
  });
}

}  // namespace
}  // namespace torchlet::kernels
