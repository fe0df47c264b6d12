#include "kernels/conv_nhwc/conv3d_nhwc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/conv_nchw/conv_testing.h"
#include "kernels/conv_nhwc/conv3d_taps.h"
#include "kernels/conv_nhwc/conv_few_outputs.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

WindowAxis axis(int64_t in, int64_t kernel, int64_t stride = 1, int64_t pad = 0,
                int64_t dilation = 1) {
  return {in,      sliding_output_size(in, kernel, stride, pad, dilation), kernel, stride, pad,
          dilation};
}

WindowAxis transposed_axis(int64_t in, int64_t kernel, int64_t stride = 1, int64_t pad = 0,
                           int64_t dilation = 1, int64_t extra = 0) {
  return {in,     transposed_output_size(in, kernel, stride, pad, dilation, extra),
          kernel, stride,
          pad,    dilation};
}

int64_t volume_in(const Conv3dNhwcShape& s) { return s.depth.in * s.height.in * s.width.in; }
int64_t volume_out(const Conv3dNhwcShape& s) { return s.depth.out * s.height.out * s.width.out; }

// Calls body(input pixel, output pixel, tap) for all of one volume that meet.
template <typename Body>
void for_each_tap(const Conv3dNhwcShape& s, const Body& body) {
  const auto meets = [&](const WindowAxis& a, int64_t i, int64_t o, int64_t k) {
    return s.transposed ? i * a.stride - a.pad + k * a.dilation == o
                        : o * a.stride - a.pad + k * a.dilation == i;
  };
  const auto for_each_of = [&](const WindowAxis& a, const auto& inner) {
    for (int64_t o = 0; o < a.out; ++o)
      for (int64_t k = 0; k < a.kernel; ++k)
        for (int64_t i = 0; i < a.in; ++i)
          if (meets(a, i, o, k)) inner(i, o, k);
  };
  const WindowAxis &d = s.depth, &h = s.height, &w = s.width;
  for_each_of(d, [&](int64_t iz, int64_t oz, int64_t kz) {
    for_each_of(h, [&](int64_t iy, int64_t oy, int64_t ky) {
      for_each_of(w, [&](int64_t ix, int64_t ox, int64_t kx) {
        body((iz * h.in + iy) * w.in + ix, (oz * h.out + oy) * w.out + ox,
             (kz * h.kernel + ky) * w.kernel + kx);
      });
    });
  });
}

// Asks for filters once and in their order, and packs them the same.
void expect_packed_by_pieces(const Conv3dNhwc& conv, const Conv3dNhwcShape& s,
                             const std::vector<float>& weight, const float* packed) {
  const int64_t all = s.transposed ? s.in_channels : s.out_channels;
  const int64_t filter = std::ssize(weight) / all;
  int64_t done = 0;
  std::vector<float> some;
  const auto filters = [&](int64_t first, int64_t end) {
    EXPECT_EQ(first, done);
    EXPECT_LE(end, all);
    done = end;
    some.assign(weight.begin() + first * filter, weight.begin() + end * filter);
    return some.data();
  };
  std::vector<float> memory(conv.packed_bytes() / sizeof(float) + 16);
  void* to = memory.data();
  size_t space = memory.size() * sizeof(float);
  std::align(64, conv.packed_bytes(), to, space);
  conv.pack(filters, static_cast<float*>(to));
  EXPECT_EQ(done, all);
  EXPECT_EQ(std::memcmp(to, packed, conv.packed_bytes()), 0);
}

struct Options {
  int64_t input_gap = 0, output_gap = 0;  // channels of the wider volume
  bool residual = false, residual_last = false;
  float tolerance = 0;
};

// With bias and relu.
void check(const Conv3dNhwcShape& s, const Options& options = {}) {
  SCOPED_TRACE(testing::Message() << s.in_channels << " to " << s.out_channels << " in " << s.groups
                                  << " groups, width " << s.width.in << " to " << s.width.out);
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const int64_t in_stride = s.in_channels + options.input_gap;
  const int64_t out_stride = s.out_channels + options.output_gap;
  const int64_t taps = s.depth.kernel * s.height.kernel * s.width.kernel;
  const auto input = random_data(s.batch * volume_in(s) * in_stride, 1);
  const auto weight = random_data(s.out_channels * in_group * taps, 2);
  const auto bias = random_data(s.out_channels, 3);
  const auto residual = random_data(s.batch * volume_out(s) * s.out_channels, 4);

  std::vector<double> sums(residual.size());
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<double>(bias[i % bias.size()]);
  for (int64_t n = 0; n < s.batch; ++n) {
    for_each_tap(s, [&](int64_t from, int64_t to, int64_t tap) {
      const float* pixel = input.data() + (n * volume_in(s) + from) * in_stride;
      for (int64_t o = 0; o < s.out_channels; ++o) {
        const int64_t group = o / out_group;
        double& sum = sums[static_cast<size_t>((n * volume_out(s) + to) * s.out_channels + o)];
        for (int64_t c = 0; c < in_group; ++c) {
          const int64_t filter =
              s.transposed ? (group * in_group + c) * out_group + o % out_group : o * in_group + c;
          sum += static_cast<double>(pixel[group * in_group + c]) *
                 static_cast<double>(weight[static_cast<size_t>(filter * taps + tap)]);
        }
      }
    });
  }

  for_each_target([&] {
    const Conv3dNhwc conv(s);
    std::vector<float> memory(conv.packed_bytes() / sizeof(float) + 16);
    void* packed = memory.data();
    size_t space = memory.size() * sizeof(float);
    std::align(64, conv.packed_bytes(), packed, space);
    conv.pack(weight.data(), static_cast<float*>(packed));
    expect_packed_by_pieces(conv, s, weight, static_cast<const float*>(packed));
    const EpilogueF32 epilogue{.bias = bias.data(),
                               .residual = options.residual ? residual.data() : nullptr,
                               .residual_stride = s.out_channels,
                               .residual_last = options.residual_last,
                               .activation = {ActivationKind::kClamp, 0, 1000}};
    constexpr float kUntouched = -12345;
    std::vector<float> output(static_cast<size_t>(s.batch * volume_out(s) * out_stride),
                              kUntouched);
    conv.run(input.data(), in_stride, static_cast<const float*>(packed), epilogue, output.data(),
             out_stride);
    for (size_t i = 0; i < output.size(); ++i) {
      const size_t pixel = i / static_cast<size_t>(out_stride);
      const size_t channel = i % static_cast<size_t>(out_stride);
      if (channel >= bias.size()) {
        ASSERT_EQ(output[i], kUntouched) << "the gap of pixel " << pixel;
        continue;
      }
      const size_t at = pixel * bias.size() + channel;
      double want = sums[at];
      const double added = options.residual ? static_cast<double>(residual[at]) : 0;
      if (!options.residual_last) want += added;
      want = std::fmin(std::fmax(want, 0), 1000);
      if (options.residual_last) want += added;
      ASSERT_NEAR(output[i], want, static_cast<double>(options.tolerance) * 1000)
          << "pixel " << pixel << " channel " << channel;
    }
  });
}

TEST(Conv3dNhwc, LinesOfManyKinds) {
  // Channels fill a vector, a part of one, and more than one; several pixels make a row.
  for (const int64_t out : {1, 2, 5, 8, 16, 19, 40}) {
    check({1, 3, out, 1, false, axis(4, 3, 1, 1), axis(3, 3, 1, 1), axis(17, 3, 1, 1)});
    check({2, 2, out, 1, false, axis(4, 2), axis(5, 2, 2, 1), axis(20, 4, 2, 1)});
  }
  check({1, 4, 3, 1, false, axis(5, 3, 1, 2, 2), axis(6, 2, 1, 1, 3), axis(21, 3, 2, 2, 2)});
  check({1, 4, 20, 1, false, axis(5, 3, 1, 2, 2), axis(6, 2, 1, 1, 3), axis(40, 3, 2, 2, 2)});
  check({1, 3, 2, 1, false, axis(1, 3, 1, 1), axis(2, 1, 2), axis(5, 1, 3)});
  // Lines below each other, of which the first and the last ones have fewer taps.
  check({1, 1, 8, 1, false, axis(7, 3, 2, 1), axis(13, 3, 2, 1), axis(33, 3, 2, 1)});
  check({2, 2, 12, 1, false, axis(4, 3, 1, 1), axis(12, 3, 1, 4, 3), axis(18, 3, 1, 1)});
}

// More than are packed at once, with and without a part of a panel.
TEST(Conv3dNhwc, ManyOutputs) {
  for (const int64_t out : {127, 128, 129, 200}) {
    check({1, 3, out, 1, false, axis(4, 3, 2, 1), axis(5, 3, 2, 1), axis(9, 3, 2, 1)});
    check({1, 3, out, 1, true, transposed_axis(2, 2, 2), transposed_axis(2, 3, 2),
           transposed_axis(3, 2, 2)});
    check({2, 4, 2 * out, 2, false, axis(3, 3, 2, 1), axis(3, 2, 2), axis(5, 3, 2, 1)});
  }
}

TEST(Conv3dNhwc, GroupsAreMergedToFillAVector) {
  for (const int64_t groups : {2, 3, 6}) {
    for (const int64_t out : {6, 12, 60}) {
      check({1, 12, out, groups, false, axis(3, 3, 1, 1), axis(3, 2), axis(16, 3, 1, 1)});
      check({1, 12, out, groups, true, transposed_axis(2, 3, 2), transposed_axis(3, 2),
             transposed_axis(9, 3, 2, 1)});
    }
  }
}

TEST(Conv3dNhwc, FiltersOfEachChannelAndSmallGroups) {
  for (const int64_t channels : {2, 7, 32, 48}) {
    for (const int64_t group : {1, 4}) {
      if (channels % group != 0) continue;
      const int64_t groups = channels / group;
      check({2, channels, channels, groups, false, axis(3, 3, 1, 1), axis(4, 3, 2, 1),
             axis(9, 3, 1, 1)},
            {.input_gap = 3, .output_gap = 2, .residual = true});
      check({1, channels, channels, groups, false, axis(4, 2, 1, 1, 2), axis(5, 3, 1, 2),
             axis(11, 5, 2, 1)});
    }
  }
}

TEST(Conv3dNhwc, GapsBetweenPixelsAndResiduals) {
  for (const int64_t out : {3, 24}) {
    const Conv3dNhwcShape shape{
        1, 4, out, 1, false, axis(3, 3, 1, 1), axis(4, 3, 1, 1), axis(19, 3, 1, 1)};
    check(shape, {.input_gap = 3});
    check(shape, {.output_gap = 5});
    for (const bool last : {false, true}) {
      check(shape, {.residual = true, .residual_last = last});
      check(shape, {.input_gap = 1, .output_gap = 2, .residual = true, .residual_last = last});
    }
  }
}

TEST(Conv3dNhwc, ShortLinesAsWindows) {
  for (const int64_t input_gap : {0, 2}) {
    const Options options{.input_gap = input_gap, .output_gap = 3, .residual = input_gap == 0};
    check({2, 5, 40, 1, false, axis(4, 3, 2, 1), axis(5, 3, 2, 1), axis(5, 3, 2, 1)}, options);
    check({1, 5, 33, 1, false, axis(4, 2), axis(3, 3, 1, 2, 2), axis(3, 2, 1, 2, 3)}, options);
    // Windows with padding on both sides, and on one side alone.
    check({1, 3, 40, 1, false, axis(4, 3, 1, 1), axis(3, 2, 1, 1), axis(2, 6, 1, 4)}, options);
  }
}

TEST(Conv3dNhwc, SmallVolumesTapByTap) {
  const auto check_taps = [](const Conv3dNhwcShape& shape, const Options& options) {
    for_each_target([&] { EXPECT_TRUE(suits_taps(shape)); });
    check(shape, options);
  };
  for (const bool residual : {false, true}) {
    const Options options{.input_gap = 2, .output_gap = 3, .residual = residual};
    // Volumes smaller than a window, lines shorter and longer than a tile, a last panel of a part.
    check_taps({2, 64, 40, 1, false, axis(2, 5, 1, 2), axis(1, 5, 1, 2), axis(3, 5, 1, 2)},
               options);
    check_taps({1, 65, 75, 1, false, axis(5, 5, 2, 2), axis(4, 7, 1, 3), axis(8, 5, 1, 2)},
               options);
    check_taps({1, 64, 33, 1, false, axis(4, 3, 1, 2, 2), axis(3, 2, 1, 1), axis(31, 5, 2, 2)},
               options);
  }
}

TEST(Conv3dNhwc, FewOutputs) {
  const auto check_few = [](const Conv3dNhwcShape& shape, const Options& options = {}) {
    for_each_target([&] {
      EXPECT_TRUE(suits_few_outputs(shape)) << shape.width.out;
      EXPECT_EQ(Conv3dNhwc(shape).packed_bytes() == few_outputs_packed_bytes(shape),
                2 * shape.out_channels <= tile_shape<float>().lanes);
    });
    check(shape, options);
  };
  for (const int64_t out : {1, 2, 3, 5, 6}) {
    check_few({2, 17, out, 1, false, axis(3, 3, 1, 1), axis(4, 2), axis(13, 3, 1, 1)},
              {.input_gap = 1, .output_gap = 2, .residual = true});
    // Every step of a stride has taps of its own, and the last pixels have fewer.
    check_few({1, 6, out, 1, true, transposed_axis(3, 3, 2, 1, 1, 1), transposed_axis(4, 3, 2, 1),
               transposed_axis(8, 3, 2, 1, 1, 1)},
              {.output_gap = 1});
    check_few({2, 20, out, 1, true, transposed_axis(2, 4, 2, 1), transposed_axis(3, 1),
               transposed_axis(5, 5, 3, 1, 2, 2)},
              {.residual = true, .residual_last = true});
  }
  check_few({1, 5, 2, 1, false, axis(40, 3, 1, 1), axis(30, 3, 1, 1), axis(31, 3, 1, 1)});
  check_few({1, 5, 1, 1, true, transposed_axis(1, 2), transposed_axis(1, 3, 3),
             transposed_axis(5, 5, 4, 3)});
  // Taps that do not meet.
  for (const int64_t out : {1, 2, 3}) {
    check_few({2, 18, out, 1, true, transposed_axis(2, 2, 2), transposed_axis(5, 2, 2),
               transposed_axis(9, 2, 2)},
              {.output_gap = 1});
    check_few({1, 5, out, 1, true, transposed_axis(2, 3, 3, 1), transposed_axis(3, 1),
               transposed_axis(6, 3, 3, 2)},
              {.residual = true});
  }
  for_each_target([] {
    EXPECT_FALSE(suits_few_outputs({1, 16, 5, 1, true, transposed_axis(4, 2, 2),
                                    transposed_axis(4, 2, 2), transposed_axis(16, 2, 2)}));
  });
}

TEST(Conv3dNhwc, PlanesByWinograd) {
  for (const int64_t depth : {1, 2, 9}) {
    for (const bool residual : {false, true}) {
      const Options options{
          .input_gap = 1, .output_gap = 2, .residual = residual, .tolerance = 2e-5f};
      check({2, 16, 17, 1, false, axis(depth, 3, 1, 1), axis(13, 3, 1, 1), axis(14, 3, 1, 1)},
            options);
    }
  }
  check({1, 8, 9, 1, false, axis(4, 3, 1, 1), axis(11, 3, 1, 1), axis(12, 3, 1, 1)},
        {.tolerance = 2e-5f});
  check({1, 20, 32, 1, false, axis(5, 2, 1, 1), axis(8, 3, 1, 1), axis(9, 3)},
        {.tolerance = 2e-5f});
  check({1, 16, 16, 1, false, axis(6, 3, 1, 2, 2), axis(12, 3, 1, 2, 2), axis(16, 3, 1, 2, 2)},
        {.tolerance = 2e-5f});
  check({2, 16, 17, 1, false, axis(9, 3, 2, 1), axis(31, 3, 2, 1), axis(30, 3, 2, 1)},
        {.input_gap = 1, .output_gap = 2, .residual = true, .tolerance = 2e-5f});
  check({1, 12, 16, 1, false, axis(6, 3, 3, 1), axis(12, 3, 1, 1), axis(16, 3, 1, 1)},
        {.tolerance = 2e-5f});
  check({1, 12, 16, 1, false, axis(7, 5, 1, 2), axis(12, 5, 1, 2), axis(16, 5, 1, 2)},
        {.tolerance = 2e-5f});
}

TEST(Conv3dNhwc, Transposed) {
  for (const int64_t out : {1, 3, 8, 16, 40}) {
    check({1, 5, out, 1, true, transposed_axis(2, 2, 2), transposed_axis(3, 2, 2),
           transposed_axis(7, 2, 2)});
    check({2, 3, out, 1, true, transposed_axis(2, 3, 2, 1, 1, 1), transposed_axis(3, 3, 2, 1),
           transposed_axis(8, 3, 2, 1, 1, 1)},
          {.input_gap = 1, .output_gap = 1, .residual = true});
    check({1, 3, out, 1, true, transposed_axis(2, 4, 2, 1), transposed_axis(3, 1, 3),
           transposed_axis(5, 2, 3, 1, 2, 1)});
  }
}

}  // namespace
}  // namespace torchlet::kernels
