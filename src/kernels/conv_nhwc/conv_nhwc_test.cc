#include "kernels/conv_nhwc/conv_nhwc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/conv_nchw/conv_testing.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/half/float16_test.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

double activate(const Activation& a, double x) {
  const double gate = std::fmin(std::fmax(x + 3, 0), 6) / 6;
  switch (a.kind) {
    case ActivationKind::kNone:
      return x;
    case ActivationKind::kClamp:
      return x < a.low ? a.low : x > a.high ? a.high : x;
    case ActivationKind::kLeakyRelu:
      return x < 0 ? x * a.low : x;
    case ActivationKind::kHardswish:
      return x * gate;
    case ActivationKind::kHardsigmoid:
      return gate;
    case ActivationKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationKind::kSilu:
      return x / (1 + std::exp(-x));
    case ActivationKind::kTanh:
      return std::tanh(x);
    case ActivationKind::kGelu:
      return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
    case ActivationKind::kGeluTanh:
      return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) / 2;
  }
  return x;
}

// The definition: the sum for output channel `oc` of output pixel (n, oy, ox).
double conv_sum(const ConvNhwcShape& s, const std::vector<float>& input, int64_t stride,
                const std::vector<float>& weight, int64_t n, int64_t oy, int64_t ox, int64_t oc) {
  const Window2dShape& w = s.window;
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  double sum = 0;
  for (int64_t ic = 0; ic < in_group; ++ic)
    for (int64_t i = 0; i < w.kernel_h; ++i)
      for (int64_t j = 0; j < w.kernel_w; ++j) {
        const int64_t y = oy * w.stride_h - w.pad_h + i * w.dilation_h;
        const int64_t x = ox * w.stride_w - w.pad_w + j * w.dilation_w;
        if (y < 0 || y >= w.in_h || x < 0 || x >= w.in_w) continue;
        const int64_t pixel = (n * w.in_h + y) * w.in_w + x;
        const int64_t tap = ((oc * in_group + ic) * w.kernel_h + i) * w.kernel_w + j;
        sum += static_cast<double>(
                   input[static_cast<size_t>(pixel * stride + oc / out_group * in_group + ic)]) *
               static_cast<double>(weight[static_cast<size_t>(tap)]);
      }
  return sum;
}

std::vector<float> to_nchw(const ConvNhwcShape& s, const std::vector<float>& image) {
  const int64_t plane = s.window.in_h * s.window.in_w;
  std::vector<float> planes(image.size());
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t i = 0; i < plane; ++i)
      for (int64_t c = 0; c < s.in_channels; ++c) {
        planes[static_cast<size_t>((n * s.in_channels + c) * plane + i)] =
            image[static_cast<size_t>((n * plane + i) * s.in_channels + c)];
      }
  return planes;
}

struct Options {
  int64_t input_gap = 0, output_gap = 0;  // channels of the wider image
  bool bias = true, residual = false, residual_last = false;
  Activation activation{};
  double tolerance = 0;
};

// Memory for packed weights.
class Packed {
 public:
  explicit Packed(size_t bytes) : buffer_(bytes / sizeof(float) + 17) {
    data_ = buffer_.data();
    size_t space = buffer_.size() * sizeof(float);
    std::align(64, bytes, data_, space);
  }
  void* data() const { return data_; }

 private:
  std::vector<float> buffer_;
  void* data_;
};

constexpr float kUntouched = 65504;  // in both types

struct Data {
  std::vector<float> input, weight, bias, residual;
  int64_t in_stride, out_stride;
  size_t out_size;
};

template <typename T>
Epilogue<T> epilogue_of(const Data& data, const ConvNhwcShape& s, const Options& options,
                        const std::vector<T>& residual) {
  return {.bias = options.bias ? data.bias.data() : nullptr,
          .residual = options.residual ? residual.data() : nullptr,
          .residual_stride = s.out_channels,
          .residual_last = options.residual_last,
          .activation = options.activation};
}

std::vector<float> convolve(const ConvNhwcShape& s, const Data& data, const Options& options) {
  const Packed packed(conv_nhwc_f32_packed_bytes(s));
  conv_nhwc_f32_pack(s, data.weight.data(), packed.data());
  const EpilogueF32 epilogue = epilogue_of(data, s, options, data.residual);
  std::vector<float> output(data.out_size, kUntouched);
  conv_nhwc_f32(s, data.input.data(), data.in_stride, packed.data(), epilogue, output.data(),
                data.out_stride);
  if (options.input_gap == 0 && conv_nhwc_reads_nchw(s)) {
    std::vector<float> again(output.size(), kUntouched);
    const auto planes = to_nchw(s, data.input);
    conv_nhwc_f32_from_nchw(s, planes.data(), packed.data(), epilogue, again.data(),
                            data.out_stride);
    EXPECT_EQ(output, again) << "from NCHW";
  }
  return output;
}

std::vector<float> convolve_f16(const ConvNhwcShape& s, const Data& data, const Options& options) {
  const Packed packed(conv_nhwc_f16_packed_bytes(s));
  conv_nhwc_f16_pack(s, data.weight.data(), packed.data());
  const auto residual = rounded(data.residual);
  const EpilogueF16 epilogue = epilogue_of(data, s, options, residual);
  auto input = data.input;
  for (size_t i = 0; i < input.size(); ++i) {  // what lies between the pixels must not matter
    if (static_cast<int64_t>(i) % data.in_stride >= s.in_channels) input[i] = std::nanf("");
  }
  std::vector<Float16> output = rounded(std::vector<float>(data.out_size, kUntouched));
  const std::vector<Float16> halves = rounded(input);
  conv_nhwc_f16(s, halves.data(), data.in_stride, packed.data(), epilogue, output.data(),
                data.out_stride);
  if (options.input_gap == 0 && conv_nhwc_reads_nchw(s)) {
    std::vector<Float16> again = rounded(std::vector<float>(data.out_size, kUntouched));
    const auto planes = to_nchw(s, data.input);
    conv_nhwc_f16_from_nchw(s, planes.data(), packed.data(), epilogue, again.data(),
                            data.out_stride);
    EXPECT_EQ(widened(output), widened(again)) << "from NCHW";
  }
  return widened(output);
}

void compare(const ConvNhwcShape& s, const Data& data, const Options& options,
             const std::vector<float>& output, double tolerance) {
  const Window2dShape& w = s.window;
  int64_t pixel = 0;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t oy = 0; oy < w.out_h; ++oy)
      for (int64_t ox = 0; ox < w.out_w; ++ox, ++pixel)
        for (int64_t oc = 0; oc < data.out_stride; ++oc) {
          const auto index = static_cast<size_t>(pixel * data.out_stride + oc);
          if (index >= output.size()) break;
          if (oc >= s.out_channels) {
            ASSERT_EQ(output[index], kUntouched) << "written between the pixels";
            continue;
          }
          double expected = conv_sum(s, data.input, data.in_stride, data.weight, n, oy, ox, oc);
          if (options.bias) expected += static_cast<double>(data.bias[static_cast<size_t>(oc)]);
          const auto place = static_cast<size_t>(pixel * s.out_channels + oc);
          const double more = options.residual ? static_cast<double>(data.residual[place]) : 0;
          expected = options.residual_last ? activate(options.activation, expected) + more
                                           : activate(options.activation, expected + more);
          ASSERT_NEAR(static_cast<double>(output[index]), expected,
                      tolerance * std::fmax(1, std::fabs(expected)))
              << "pixel " << pixel << " channel " << oc;
        }
}

std::string text_of(const ConvNhwcShape& s) {
  const Window2dShape& w = s.window;
  return (testing::Message() << "in " << s.in_channels << " out " << s.out_channels << " groups "
                             << s.groups << " image " << w.in_h << "x" << w.in_w << " kernel "
                             << w.kernel_h << "x" << w.kernel_w)
      .GetString();
}

Data data_for(const ConvNhwcShape& s, const Options& options) {
  const Window2dShape& w = s.window;
  const int64_t out_pixels = s.batch * w.out_h * w.out_w;
  Data data;
  data.in_stride = s.in_channels + options.input_gap;
  data.out_stride = s.out_channels + options.output_gap;
  // No padding after the last pixel, so that a read beyond the end is a sanitizer's find.
  data.input = random_data((s.batch * w.in_h * w.in_w - 1) * data.in_stride + s.in_channels, 1);
  data.weight =
      random_data(s.out_channels * (s.in_channels / s.groups) * w.kernel_h * w.kernel_w, 2);
  data.bias = random_data(s.out_channels, 3);
  data.residual = random_data(out_pixels * s.out_channels, 4);
  data.out_size = static_cast<size_t>((out_pixels - 1) * data.out_stride + s.out_channels);
  return data;
}

// In float32, and in Float16 if this processor has that.
void check(const ConvNhwcShape& s, const Options& options = {}) {
  SCOPED_TRACE(text_of(s));
  const Data data = data_for(s, options);
  compare(s, data, options, convolve(s, data, options), options.tolerance);
  if (!has_float16()) return;
  SCOPED_TRACE("in Float16");
  // Integers below 2048 are exact there, too; larger ones are rounded once, and so is each part of
  // an activation.
  const bool is_exact = options.activation.kind <= ActivationKind::kLeakyRelu;
  compare(s, data, options, convolve_f16(s, data, options), is_exact ? 0x1p-11 : 0x1p-9);
}

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

TEST(ConvNhwc, PixelStridesAboveTheChannels) {
  for_each_target([] {
    const Options gaps{.input_gap = 5, .output_gap = 3};
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

TEST(ConvNhwc, TapByTap) {
  for_each_target([] {
    const Options options{
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

TEST(ConvNhwc, FewOutputs) {
  for_each_target([] {
    // One and a half vectors of channels of the output, on this instruction set.
    const int64_t most = tile_shape<float>().lanes * 3 / 2;
    const auto few = [&](int64_t in, int64_t out, const Window2dShape& window,
                         const Options& options = {}, int64_t batch = 1) {
      const ConvNhwcShape shape{
          .batch = batch, .in_channels = in, .out_channels = out, .window = window};
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

void check_transposed(const ConvNhwcShape& s) {
  const Window2dShape& w = s.window;
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const int64_t in_stride = s.in_channels + 1, out_stride = s.out_channels + 2;
  const auto input = random_data(s.batch * w.in_h * w.in_w * in_stride, 1);
  const auto weight = random_data(s.in_channels * out_group * w.kernel_h * w.kernel_w, 2);
  const auto bias = random_data(s.out_channels, 3);
  std::vector<float> expected(static_cast<size_t>(s.batch * w.out_h * w.out_w * out_stride), 1e9f);
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t channel = i % static_cast<size_t>(out_stride);
    if (channel < bias.size()) expected[i] = bias[channel];
  }
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t y = 0; y < w.in_h; ++y)
      for (int64_t x = 0; x < w.in_w; ++x)
        for (int64_t ic = 0; ic < s.in_channels; ++ic)
          for (int64_t oc = 0; oc < out_group; ++oc)
            for (int64_t i = 0; i < w.kernel_h; ++i)
              for (int64_t j = 0; j < w.kernel_w; ++j) {
                const int64_t oy = y * w.stride_h - w.pad_h + i * w.dilation_h;
                const int64_t ox = x * w.stride_w - w.pad_w + j * w.dilation_w;
                if (oy < 0 || oy >= w.out_h || ox < 0 || ox >= w.out_w) continue;
                const int64_t from = ((n * w.in_h + y) * w.in_w + x) * in_stride + ic;
                const int64_t tap = ((ic * out_group + oc) * w.kernel_h + i) * w.kernel_w + j;
                const int64_t to = ((n * w.out_h + oy) * w.out_w + ox) * out_stride +
                                   ic / in_group * out_group + oc;
                expected[static_cast<size_t>(to)] +=
                    input[static_cast<size_t>(from)] * weight[static_cast<size_t>(tap)];
              }
  const size_t packed_bytes = conv_transpose_nhwc_f32_packed_bytes(s);
  std::vector<float> buffer(packed_bytes / sizeof(float) + 16);
  void* packed = buffer.data();
  size_t space = buffer.size() * sizeof(float);
  std::align(64, packed_bytes, packed, space);
  conv_transpose_nhwc_f32_pack(s, weight.data(), packed);
  std::vector<float> output(expected.size(), 1e9f);
  conv_transpose_nhwc_f32(s, input.data(), in_stride, packed,
                          {.bias = bias.data(), .activation = {}}, output.data(), out_stride);
  EXPECT_EQ(output, expected);
}

TEST(ConvNhwc, Transposed) {
  for_each_target([] {
    const auto transposed = [](int64_t h, int64_t w, int64_t kernel, int64_t stride, int64_t pad,
                               int64_t dilation, int64_t extra) {
      Window2dShape s = make_window(h, w, kernel, kernel, stride, pad, dilation);
      s.out_h = (h - 1) * stride - 2 * pad + dilation * (kernel - 1) + 1 + extra;
      s.out_w = (w - 1) * stride - 2 * pad + dilation * (kernel - 1) + 1 + extra;
      return s;
    };
    check_transposed(
        {.in_channels = 20, .out_channels = 33, .window = transposed(5, 7, 2, 2, 0, 1, 0)});
    check_transposed({.batch = 2,
                      .in_channels = 3,
                      .out_channels = 17,
                      .window = transposed(4, 19, 4, 2, 1, 1, 0)});
    check_transposed(
        {.in_channels = 300, .out_channels = 8, .window = transposed(4, 4, 3, 2, 1, 1, 1)});
    check_transposed({.in_channels = 8,
                      .out_channels = 12,
                      .groups = 4,
                      .window = transposed(6, 5, 3, 1, 1, 2, 0)});
    check_transposed(
        {.in_channels = 4, .out_channels = 40, .window = transposed(40, 40, 3, 3, 0, 1, 0)});
    // Few channels: with what reaches beyond the borders, gaps, and more lines than one task has.
    check_transposed(
        {.in_channels = 7, .out_channels = 3, .window = transposed(9, 6, 4, 2, 1, 1, 0)});
    check_transposed({.batch = 2,
                      .in_channels = 5,
                      .out_channels = 1,
                      .window = transposed(6, 7, 9, 3, 4, 1, 2)});
    check_transposed(
        {.in_channels = 3, .out_channels = 2, .window = transposed(5, 8, 3, 2, 3, 2, 1)});
    check_transposed(
        {.in_channels = 2, .out_channels = 3, .window = transposed(4, 5, 2, 5, 0, 1, 1)});
    check_transposed(
        {.in_channels = 16, .out_channels = 7, .window = transposed(90, 70, 3, 2, 1, 1, 1)});
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

// Winograd's algorithm where it is taken, next to the plain sum. The largest results are
// about 400.
TEST(ConvNhwc, Winograd) {
  const Options options{.input_gap = 3, .output_gap = 5, .tolerance = 8e-4};
  for_each_target([&] {
    const auto conv = [&](const Window2dShape& w, int64_t batch = 1) {
      check({.batch = batch, .in_channels = 40, .out_channels = 49, .window = w}, options);
    };
    conv(make_window(16, 16, 3, 3, 1, 1));     // tiles of 4 x 4
    conv(make_window(13, 15, 3, 3, 1, 1), 2);  // tiles over the border
    conv(make_window(18, 17, 3, 3));           // no padding
    conv(make_window(6, 6, 3, 3, 1, 1), 4);    // tiles of 2 x 2
    conv(make_window(28, 27, 3, 3, 1, 2, 2));  // dilation, uneven phases
    conv(make_window(12, 12, 3, 3, 1, 3, 3));
    // Narrow vectors save as much time as its weights take on 4 x 4 pixels, too.
    conv(make_window(4, 4, 3, 3, 1, 1));
    EXPECT_EQ(conv_nhwc_f32_form(
                  {.in_channels = 40, .out_channels = 49, .window = make_window(4, 4, 3, 3, 1, 1)}),
              tile_shape<float>().lanes < 16 ? 2 : 0);
  });
}

// Each group by itself, on one thread and on two.
// The products that a layer saves for each byte of its weights are as many as it has pixels.
TEST(ConvNhwc, LeanWeightsOfWinogradAreThoseThatGainMuch) {
  const auto tile = [](int64_t size, int64_t channels, bool lean) {
    return conv_nhwc_f32_form({.in_channels = channels,
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
  EXPECT_EQ(tile(56, 64, false), 4);
  EXPECT_EQ(tile(56, 64, true), 4);
  EXPECT_EQ(tile(28, 128, true), 4);
  EXPECT_EQ(tile(14, 256, false), 4);
  EXPECT_EQ(tile(14, 256, true), 2);
  EXPECT_EQ(tile(7, 512, false), 2);
  EXPECT_EQ(tile(7, 512, true), 0);
}

TEST(ConvNhwc, WinogradOfGroups) {
  for_each_target([] {
    for (const bool last : {false, true}) {
      const Options options{.input_gap = 1,
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
        EXPECT_GT(conv_nhwc_f32_form(shape), 1) << in << " to " << out;
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

TEST(ConvNhwc, TellsWhatOfLargeWeightsWasRead) {
  const Window2dShape window = make_window(1, 4, 1, 1);
  for (const ConvNhwcShape& s :
       {ConvNhwcShape{.in_channels = 1500, .out_channels = 1001, .window = window},
        ConvNhwcShape{.in_channels = 1536, .out_channels = 2048, .groups = 2, .window = window}}) {
    const int64_t count = s.in_channels / s.groups * s.out_channels;
    std::vector<float> weight(static_cast<size_t>(count));
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i);
    const Packed all(conv_nhwc_f32_packed_bytes(s)), pieces(conv_nhwc_f32_packed_bytes(s));
    conv_nhwc_f32_pack(s, weight.data(), all.data());
    int64_t done = 0;
    const auto take_away = [&](int64_t first, int64_t last) {
      EXPECT_EQ(first, done);
      std::fill(weight.begin() + first, weight.begin() + last, 0.0f);
      done = last;
    };
    const WeightsRead read = take_away;
    conv_nhwc_f32_pack(s, weight.data(), pieces.data(), &read);
    EXPECT_GT(done, count / 2);
    EXPECT_LT(done, count);
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

// Next to weights in float32, which are whole numbers and so the same in both forms.
void check_half_weights(ConvNhwcShape s, const Options& options = {}) {
  SCOPED_TRACE(text_of(s));
  const Data data = data_for(s, options);
  const std::vector<float> want = convolve(s, data, options);
  const size_t bytes = conv_nhwc_f32_packed_bytes(s);
  s.half_weights = true;
  EXPECT_EQ(conv_nhwc_f32_in_half(s), has_half_panels());
  EXPECT_EQ(conv_nhwc_f32_packed_bytes(s), has_half_panels() ? bytes / 2 : bytes);
  const std::vector<float> got = convolve(s, data, options);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], options.tolerance) << i;
}

TEST(ConvNhwc, WeightsInHalfPrecision) {
  for_each_target([] {
    const Options options{.input_gap = 1,
                          .output_gap = 2,
                          .residual = true,
                          .activation = {ActivationKind::kClamp, -100, 100}};
    for (const int threads : {1, 2}) {
      set_num_threads(threads);
      for (const int64_t pixels : {1, 2, 3, 4, 5, 7, 13, 14, 15, 19, 29, 290}) {
        check_half_weights(
            {.in_channels = 130, .out_channels = 145, .window = make_window(1, pixels, 1, 1)});
      }
      for (const int64_t out : {128, 130, 144, 160}) {
        check_half_weights(
            {.in_channels = 131, .out_channels = out, .window = make_window(3, 11, 1, 1)}, options);
      }
      // Deep products, rows that share cache sets, and rows in strips of a tile.
      Options last = options;
      last.residual_last = true;
      for (const int64_t in : {1024, 1030}) {
        const ConvNhwcShape deep{
            .in_channels = in, .out_channels = 70, .window = make_window(1, 61, 1, 1)};
        check_half_weights(deep, options);
        check_half_weights(deep, last);
      }
      const auto conv = [&](int64_t in, int64_t out, const Window2dShape& w, int64_t groups = 1) {
        check_half_weights({.batch = 2,
                            .in_channels = in,
                            .out_channels = out,
                            .groups = groups,
                            .window = w,
                            .winograd = false},
                           options);
      };
      conv(45, 49, make_window(9, 7, 3, 3, 1, 1));
      conv(45, 49, make_window(21, 17, 3, 3, 1, 1));
      conv(45, 49, make_window(9, 7, 3, 3, 2, 1));
      conv(45, 49, make_window(1, 1, 3, 3, 1, 1));
      conv(128, 131, make_window(9, 7, 1, 1, 2));
      conv(96, 80, make_window(9, 7, 3, 3, 1, 1), 2);
      conv(5 * 40, 5 * 10, make_window(6, 7, 3, 3, 1, 1), 5);  // the last group by itself
      conv(70, 49, make_window(9, 17, 3, 3, 1, 7, 7));         // tap by tap
      conv(192, 128, make_window(9, 9, 3, 3, 2, 6, 6), 2);
      conv(520, 33, make_window(4, 5, 3, 3, 1, 1));
    }
    set_num_threads(1);
    // Transformed weights are rounded; the largest results are about 400.
    for (const int64_t groups : {1, 2}) {
      for (const int64_t size : {6, 17}) {
        check_half_weights({.batch = 4,
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
      widen_panels(Panels<float>::of(halves.data(), true), std::ssize(weight), nearest.data());
      for (size_t i = 0; i < weight.size(); ++i) {
        ASSERT_NEAR(nearest[i], weight[i], 0x1p-11f * std::fabs(weight[i]));
      }
      EXPECT_NE(nearest, weight);
    }
    const Data exact{.input = random_data(3 * 128, 6),
                     .weight = nearest,
                     .bias = random_data(128, 7),
                     .residual = {},
                     .in_stride = 128,
                     .out_stride = 128,
                     .out_size = 3 * 128};
    Data rounded = exact;
    rounded.weight = weight;
    const std::vector<float> want = convolve(s, exact, {});
    s.half_weights = true;
    EXPECT_EQ(convolve(s, rounded, {}), want);
    s.out_channels = 127;
    EXPECT_FALSE(conv_nhwc_f32_in_half(s));
    s.in_channels = 3;
    s.out_channels = 1000;
    s.window = make_window(9, 9, 3, 3);
    EXPECT_FALSE(conv_nhwc_f32_in_half(s)) << "few channels";
  });
}

}  // namespace
}  // namespace torchlet::kernels
