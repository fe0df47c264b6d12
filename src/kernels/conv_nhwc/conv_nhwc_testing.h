// For tests of convolutions of images: data, the definition, and the kernels next to it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/conv_nchw/conv_testing.h"
#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/half/float16_test.h"

namespace torchlet::kernels {

inline double activate(const Activation& a, double x) {
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
inline double conv_sum(const ConvNhwcShape& s, const std::vector<float>& input, int64_t stride,
                       const std::vector<float>& weight, int64_t n, int64_t oy, int64_t ox,
                       int64_t oc) {
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

inline std::vector<float> to_nchw(const ConvNhwcShape& s, const std::vector<float>& image) {
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

struct ConvOptions {
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

struct ConvData {
  std::vector<float> input, weight, bias, residual;
  int64_t in_stride, out_stride;
  size_t out_size;
};

template <typename T>
Epilogue<T> epilogue_of(const ConvData& data, const ConvNhwcShape& s, const ConvOptions& options,
                        const std::vector<T>& residual) {
  return {.bias = options.bias ? data.bias.data() : nullptr,
          .residual = options.residual ? residual.data() : nullptr,
          .residual_stride = s.out_channels,
          .residual_last = options.residual_last,
          .activation = options.activation};
}

inline std::vector<float> convolve(const ConvNhwcShape& s, const ConvData& data,
                                   const ConvOptions& options) {
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

inline std::vector<float> convolve_f16(const ConvNhwcShape& s, const ConvData& data,
                                       const ConvOptions& options) {
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

inline void compare(const ConvNhwcShape& s, const ConvData& data, const ConvOptions& options,
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

inline std::string text_of(const ConvNhwcShape& s) {
  const Window2dShape& w = s.window;
  return (testing::Message() << "in " << s.in_channels << " out " << s.out_channels << " groups "
                             << s.groups << " image " << w.in_h << "x" << w.in_w << " kernel "
                             << w.kernel_h << "x" << w.kernel_w)
      .GetString();
}

inline ConvData data_for(const ConvNhwcShape& s, const ConvOptions& options) {
  const Window2dShape& w = s.window;
  const int64_t out_pixels = s.batch * w.out_h * w.out_w;
  ConvData data;
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
inline void check(const ConvNhwcShape& s, const ConvOptions& options = {}) {
  SCOPED_TRACE(text_of(s));
  const ConvData data = data_for(s, options);
  compare(s, data, options, convolve(s, data, options), options.tolerance);
  if (!has_float16()) return;
  SCOPED_TRACE("in Float16");
  // Integers below 2048 are exact there, too; larger ones are rounded once, and so is each part of
  // an activation.
  const bool is_exact = options.activation.kind <= ActivationKind::kLeakyRelu;
  compare(s, data, options, convolve_f16(s, data, options), is_exact ? 0x1p-11 : 0x1p-9);
}

}  // namespace torchlet::kernels
